package testkit

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
)

func TestMain(m *testing.M) { Main(m) }

func TestLacking(t *testing.T) {
	here := Need{"here", true, func() string { return "" }}
	tool := Need{"tool", false, func() string { return "apt-get install tool" }}
	core := Need{"core", true, func() string { return "be root" }}
	f := func(required, want string, wantMust bool, needs ...Need) {
		t.Helper()
		missing, must := lacking(needs, required)
		if got := strings.Join(missing, "; "); got != want || must != wantMust {
			t.Errorf("got %q, %v, want %q, %v", got, must, want, wantMust)
		}
	}
	f("1", "", false)
	f("1", "", false, here)
	f("1", "tool (apt-get install tool)", false, here, tool)
	f("1", "core (be root); tool (apt-get install tool)", true, core, here, tool)
	f("", "core (be root)", false, core)
	f("here,tool", "tool (apt-get install tool)", true, here, tool)
	f("here,tool", "core (be root)", false, core)
}

// A facility that opens and delivers nothing counts as missing, and is tried
// once.
func TestNeedOfFacility(t *testing.T) {
	tries := 0
	n := tried("breakpoints", false, func() kernel.Trial { tries++; return kernel.Trial{Hits: 8, Least: 8} })
	for range 2 {
		if missing, _ := lacking([]Need{n}, ""); len(missing) != 1 ||
			missing[0] != "breakpoints (opens, but 0 of 8 hits came)" {
			t.Errorf("got %q", missing)
		}
	}
	if tries != 1 {
		t.Errorf("got %d tries, want 1", tries)
	}
}

func TestNeedOfProgram(t *testing.T) {
	if why := program("no-such-program", "the-package", true).
		missing(); why != "apt-get install the-package" {
		t.Errorf("got %q", why)
	}
	if why := program("true", "coreutils", true).missing(); why != "" {
		t.Errorf("got %q, want nothing missing", why)
	}
}

func TestRun(t *testing.T) {
	out := Run(t, "sh", "-c", "echo out; echo err >&2; exit 3").Want(t, 3)
	if out.Stdout != "out\n" || out.Stderr != "err\n" {
		t.Errorf("got %q and %q", out.Stdout, out.Stderr)
	}
	if out := Run(t, "sh", "-c", "kill -9 $$"); out.Exit != 128+9 {
		t.Errorf("killed: got %d, want 137", out.Exit)
	}
	p := Start(t, "sh", "-c", "echo $$ >&2; exec sleep 20")
	p.WaitStderr("\n")
	if !Alive(p.PID()) {
		t.Error("sleep: got dead")
	}
	if out := p.Stop(); out.Exit != 128+int(syscall.SIGINT) || out.Took > 10*time.Second {
		t.Errorf("interrupted: got %d after %v", out.Exit, out.Took)
	}
	if Alive(p.PID()) {
		t.Error("sleep: got alive")
	}
}

func TestJSON(t *testing.T) {
	output := "hello\n" +
		`{"v":1,"type":"event","data":{"time":9007199254740993,"tid":7,"fields":{"id":5},"text":"NR 5"}}` +
		"\n" +
		`{"v":1,"type":"table","data":{"seq":2,"final":true,"samples":3,"total_samples":5,"loss":{"lost":4},"rows":[{"a":9007199254740993,"b":"x"}]}}` +
		"\n"
	tables, events := Tables(t, output), Events(t, output)
	if len(tables) != 1 || len(events) != 1 || len(Records(t, output)) != 2 {
		t.Fatalf("got %v and %v", tables, events)
	}
	row := tables[0].Rows[0]
	if row.Int(t, "a") != 9007199254740993 || row.Text(t, "b") != "x" || tables[0].Loss["lost"] != 4 ||
		tables[0].TotalSamples != 5 || !tables[0].Final {
		t.Errorf("got %+v", tables[0])
	}
	if e := events[0]; e.Time != 9007199254740993 || e.TID != 7 || e.Text != "NR 5" {
		t.Errorf("got %+v", e)
	}
}

// The target does its work when the test asks for it, and a second time.
func TestTarget(t *testing.T) {
	l := StartTarget(t, "-getppid", "10", "-fail", "2", "-sleep", "2", "-switch", "3", "-fault", "4")
	var names []string
	tasks := "/proc/" + strconv.Itoa(l.PID()) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, th := range threads {
		name, err := os.ReadFile(tasks + "/" + th.Name() + "/comm")
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.TrimSpace(string(name)))
	}
	if all := strings.Join(names, " "); !strings.Contains(all, "load-0") || !strings.Contains(all, "echo-0") {
		t.Errorf("got threads %s, want load-0 and echo-0", all)
	}
	l.Do()
	l.Do()
	l.End()
}
