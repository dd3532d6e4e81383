// Package fleet_test runs hubs, agents and askers in the way that users run them: each is a
// process of its own.
package fleet_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// script counts the calls of getppid by one process; the file that it loads has the
// source of events.
const script = `"""How often does a process ask for its parent?"""

load("./source.star", "calls")

opts = options(of = opt.int(required = True, help = "the process"))

def main(o):
    return calls().where("pid == %d" % o.of).by(call = "id").count()
`

const source = `"""Calls."""

def calls():
    return tracepoint("raw_syscalls:sys_enter").where("id == GETPPID")
`

// A place is a hub with agents, and a key whose scripts they run.
type place struct {
	t      *testing.T
	dir    string
	url    string
	agents map[string]*testkit.Process
}

// freePort returns an address at which no program listens.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func begin(t *testing.T) *place {
	t.Helper()
	testkit.Requires(t, testkit.Live...)
	p := prepare(t)
	at := freePort(t)
	p.url = "nats://" + at
	testkit.StartFor(t, time.Minute, testkit.PPScript(t), "hub", "--listen", at).WaitStderr("the hub is at")
	return p
}

// prepare makes a place that has no hub yet.
func prepare(t *testing.T) *place {
	t.Helper()
	p := &place{t: t, dir: testkit.Open(t), agents: map[string]*testkit.Process{}}
	p.write("count.star", script)
	p.write("source.star", strings.ReplaceAll(source, "GETPPID", getppid()))
	run := testkit.PPScript(t)
	testkit.Run(t, run, "sign", "--new-key", filepath.Join(p.dir, "ops")).Want(t, 0)
	p.sign()
	p.write("policy", "allow signed=ops --*\nmax-duration 1m\nsigners "+filepath.Join(p.dir,
		"ops.pub")+"\n")
	if err := os.Chmod(p.dir, 0o755); err != nil { // only its owner may write here, where the policy is
		t.Fatal(err)
	}
	return p
}

// getppid is the number of the system call.
func getppid() string {
	if arch() == "arm64" {
		return "173"
	}
	return "110"
}

func arch() string {
	var u syscall.Utsname
	_ = syscall.Uname(&u)
	if u.Machine[0] == 'a' {
		return "arm64"
	}
	return "amd64"
}

func (p *place) write(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) sign() {
	p.t.Helper()
	testkit.Run(p.t, testkit.PPScript(p.t), "sign", filepath.Join(p.dir, "ops"),
		filepath.Join(p.dir, "count.star")).Want(p.t, 0)
}

// agent returns the command line of an agent.
func (p *place) agent(name string) []string {
	return []string{"agent", "--hub", p.url, "--name", name, "--policy", filepath.Join(p.dir, "policy")}
}

func (p *place) start(names ...string) {
	p.t.Helper()
	for _, name := range names {
		p.agents[name] = testkit.StartFor(p.t, time.Minute, append([]string{testkit.PPScript(p.t)},
			p.agent(name)...)...)
	}
	p.await(len(names))
}

// await waits until the hub lists this many hosts.
func (p *place) await(n int, options ...string) {
	p.t.Helper()
	out := testkit.Output{}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		out = testkit.Run(p.t, append([]string{testkit.PPScript(p.t), "fleet", "hosts", "--json", "--hub",
			p.url}, options...)...)
		if strings.Count(out.Stdout, "\n") >= n { // hosts may come in between
			return
		}
	}
	p.t.Fatalf("got hosts %s %s, want %d", out.Stdout, out.Stderr, n)
}

// ask begins a run about a process.
func (p *place) ask(target *testkit.Target, options ...string) *testkit.Process {
	return testkit.StartFor(p.t, time.Minute, slices.Concat([]string{testkit.PPScript(p.t), "fleet",
		"run", "--hub",
		p.url, "-i", "250ms", "--budget", "off"}, options,
		[]string{filepath.Join(p.dir, "count.star"), "--of", strconv.Itoa(target.PID()),
			"--format", "json"})...)
}

// No client of the hub can make an agent start a command or read a file, whatever its request
// contains.
func TestAgentsReadAndStartNothing(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.write("policy", "max-duration 1m\n")
	p.start("a")
	hit := filepath.Join(p.dir, "hit")
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect(p.url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for i, x := range []struct{ want, request string }{
		{"start /usr/bin/touch: not for other machines", `"name": "syscalls", "args": ["/usr/bin/touch", "` +
			hit + `"]`},
		{"start /usr/bin/touch: not for other machines", `"name": "syscalls",
			"args": ["/usr/bin/touch", "/usr/bin/touch", "` + hit +
			`"], "options": [{"name": "cgroups", "bare": true, "values": [""]}]`},
		{"pull= is not for other machines", `"name": "top", "options": [{"name": "events",
			"values": ["sched:sched_switch//pull =\"/etc/passwd\"/"]}]`},
		{"pull= is not for other machines", `"name": "top", "options": [{"name": "events",
			"values": ["sched:sched_switch//pull=\"` + p.dir + `/pipe\"/"]}]`},
		{"probe /etc/shadow: not for other machines", `"name": "trace", "options": [{"name": "events",
			"values": ["uprobe:main@\"/etc/shadow\""]}]`},
	} {
		end, err := nc.SubscribeSync(fmt.Sprintf("ppscript.2.*.x%d.*", i)) // answer and end of the job
		if err != nil {
			t.Fatal(err)
		}
		job := fmt.Sprintf(`{"id": "x%d", "by": "eve", %s, "interval_ns": 1000000000,
			"duration_ns": 2000000000}`, i, x.request)
		if err := nc.Publish("ppscript.2.job", []byte(job)); err != nil {
			t.Fatal(err)
		}
		m, err := end.NextMsg(30 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		said := string(m.Data)
		if !strings.Contains(said, `"error"`) {
			if m, err = end.NextMsg(30 * time.Second); err != nil {
				t.Fatalf("%s: got no end: %v", job, err)
			}
			said = string(m.Data)
		}
		if !strings.Contains(said, x.want) || strings.Contains(said, "root:") {
			t.Errorf("%s: got %s, want %q", job, said, x.want)
		}
	}
	if _, err := os.Stat(hit); err == nil {
		t.Error("a command ran")
	}
}

// Three hosts count each call of a process; one of them runs as a user with only the capabilities
// to trace. Their combined result is three times the number of calls, and each host has the number
// itself.
func TestSumsAreThoseOfLocalRuns(t *testing.T) {
	t.Parallel()
	p := begin(t)
	const calls = 3000
	ordinary := testkit.Ordinary(t, 0o755)
	testkit.StartOrdinary(t, p.dir, append([]string{ordinary}, p.agent("ordinary")...)...)
	p.start("a", "b")
	p.await(3)
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	run := p.ask(target, "--by", "host")
	run.WaitStderr("runs on 3 hosts")
	run.WaitStdout(`"told":3`)
	target.Do()
	countsOf := func(text string) (by map[string]int64, all int64) {
		by = map[string]int64{}
		for _, table := range testkit.Tables(t, text) {
			for _, row := range table.Rows {
				by[row.Text(t, "host")] += row.Int(t, "count")
				all += row.Int(t, "count")
			}
		}
		return by, all
	}
	run.Await("all calls", func(lines string) bool {
		_, all := countsOf(lines)
		return all >= 3*calls
	})
	run.Signal(syscall.SIGINT)
	out := run.Wait()
	by, _ := countsOf(out.Stdout)
	for _, name := range []string{"a", "b", "ordinary"} {
		if by[name] != calls {
			t.Errorf("%s: got %d calls, want %d: %s", name, by[name], calls, out.Stderr)
		}
	}
}

// While a job runs, one merger is killed, and another is frozen and goes on later: each call is
// counted once.
func TestMergersThatAreKilled(t *testing.T) {
	t.Parallel()
	p := begin(t)
	const calls = 2000
	merger := func() *testkit.Process {
		m := testkit.StartFor(t, time.Minute, testkit.PPScript(t), "merger", "--hub", p.url)
		m.WaitStderr("merger ")
		return m
	}
	killed, frozen := merger(), merger()
	p.start("a", "b", "c")
	target := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	run := p.ask(target, "--parts", "3,2", "--late", "8s")
	run.WaitStderr("runs on 3 hosts")
	run.WaitStdout(`"told":3`)
	frozen.Suspend()
	target.Do()
	killed.Signal(syscall.SIGKILL)
	const whole = `"told":3,"of":3,"missing":[]`
	seen := strings.Count(run.Stdout(), whole)
	run.Await("windows of all", func(out string) bool { return strings.Count(out, whole) > seen+2 })
	frozen.Signal(syscall.SIGCONT)
	seen = strings.Count(run.Stdout(), whole)
	run.Await("windows of all", func(out string) bool { return strings.Count(out, whole) > seen+4 })
	run.Signal(syscall.SIGINT)
	out := run.Wait()
	if n := counted(t, out); n != 3*calls {
		t.Errorf("got %d calls, want %d: %s", n, 3*calls, out.Stderr)
	}
}

// jobs returns the processes that an agent has started for jobs.
func jobs(agent int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", agent))
	for _, path := range tasks {
		text, _ := os.ReadFile(path) // of a thread that ended
		for _, word := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + word + "/cmdline")
			if n, err := strconv.Atoi(word); err == nil && strings.Contains(string(line),
				"--partials") {
				list = append(list, n)
			}
		}
	}
	return list
}

// One agent is killed, which also ends its job; another is frozen, and is named as missing
// until it goes on.
func TestAgentsThatAreKilledOrFrozenAreNamed(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.start("good", "killed", "frozen")
	target := testkit.StartTarget(t, "-getppid", "100")
	run := p.ask(target, "--late", "300ms")
	run.WaitStdout(`"told":3`)
	left := jobs(p.agents["killed"].PID())
	if len(left) != 1 {
		t.Fatalf("got processes %v of the job, want one", left)
	}
	p.agents["frozen"].Suspend()
	p.agents["killed"].Signal(syscall.SIGKILL)
	const alone = `"told":1,"of":3,"missing":["frozen","killed"]`
	run.Await("windows of one host", func(out string) bool { return strings.Count(out, alone) > 2 })
	p.agents["frozen"].Signal(syscall.SIGCONT)
	run.WaitStdout(`"told":2,"of":3,"missing":["killed"]`)
	for end := time.Now().Add(10 * time.Second); syscall.Kill(left[0],
		0) == nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Error("the job of the agent that was killed goes on")
			break
		}
	}
	run.WaitStderr("frozen is late")
}

// The host refuses a script that was changed, that has no signature, or that the policy does not
// allow, and gives the reason.
func TestScriptsThatAreRefused(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.start("a")
	target := testkit.StartTarget(t, "-getppid", "1")
	f := func(want string, out testkit.Output) {
		t.Helper()
		if out.Exit == 0 || !strings.Contains(out.Stderr, want) || !strings.Contains(out.Stderr,
			"hint: ") {
			t.Errorf("got %d, %s, want %q", out.Exit, out.Stderr, want)
		}
	}
	if err := os.Chmod(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p.write("source.star", source+"#")
	f("source.star: it was changed after ops signed it", p.ask(target).Wait())
	if err := os.Remove(filepath.Join(p.dir, "count.star.sig")); err != nil {
		t.Fatal(err)
	}
	f("nobody signed it", p.ask(target).Wait())
	f("no line of the host's", testkit.Run(t, testkit.PPScript(t), "fleet", "run", "--hub", p.url,
		"syscalls"))
	log := p.agents["a"].Stop().Stderr
	if n := strings.Count(log, "refused "); n != 2 { // an unsigned script is not sent to the host
		t.Errorf("got %d refusals in %s, want 2", n, log)
	}
}

// counted returns the sum of the counts of all tables.
func counted(t *testing.T, out testkit.Output) (n int64) {
	t.Helper()
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, row := range table.Rows {
			n += row.Int(t, "count")
		}
	}
	return n
}
