// Package agents tests ppscript mcp with the client of the protocol's own library,
// as an assistant would use it: three investigations, and requests that must be
// refused.
package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// An assistant is a client of one server.
type assistant struct {
	t       *testing.T
	session *mcp.ClientSession
}

func connect(t *testing.T, options ...string) *assistant {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cmd := exec.Command(testkit.PPScript(t), append([]string{"mcp"}, options...)...)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return &assistant{t, session}
}

type arguments = map[string]any

// call calls a tool and returns the answer's text.
func (a *assistant) call(tool string, in arguments) (text string, failed bool) {
	a.t.Helper()
	result, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error(), true
	}
	for _, c := range result.Content {
		if part, ok := c.(*mcp.TextContent); ok {
			text += part.Text
		}
	}
	return text, result.IsError
}

// ask calls a tool and fails the test if the answer lacks one of the words.
func (a *assistant) ask(tool string, in arguments, want ...string) string {
	a.t.Helper()
	text, failed := a.call(tool, in)
	if failed {
		a.t.Errorf("%s %v: failed: %s", tool, in, text)
	}
	for _, word := range want {
		if !strings.Contains(text, word) {
			a.t.Errorf("%s %v: no %q in\n%s", tool, in, word, text)
		}
	}
	most := 3_000
	if tool == "more" {
		most = 20_000
	}
	if len(text) > most {
		a.t.Errorf("%s %v: an answer of %d bytes, want at most %d", tool, in, len(text), most)
	}
	return text
}

// whole returns an answer together with the part that was cut.
func (a *assistant) whole(tool string, in arguments) string {
	a.t.Helper()
	text := a.ask(tool, in)
	handle, offset := rest(text)
	if handle == "" {
		return text
	}
	all := text[:offset]
	for handle != "" {
		part := a.ask("more", arguments{"handle": handle, "offset": offset})
		var next int
		if handle, next = rest(part); handle != "" {
			part = part[:next-offset]
		}
		all, offset = all+part, next
	}
	return all
}

// refused calls a tool and fails the test if there is no error with these
// words.
func (a *assistant) refused(tool string, in arguments, want string) {
	a.t.Helper()
	text, failed := a.call(tool, in)
	if !failed || !strings.Contains(text, want) {
		a.t.Errorf("%s %v: want an error with %q, got (%v) %s", tool, in, want, failed, text)
	}
}

// TestSlowProcess finds out what a process does, without knowing anything about
// it.
func TestSlowProcess(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	load := testkit.StartTarget(t, "-sleep", "200")
	a := connect(t)
	if text := a.whole("doctor", nil); !strings.Contains(text, "tracepoint events") {
		t.Errorf("doctor: got %s, want all that it tried", text)
	}
	a.ask("list", arguments{"what": "scripts", "text": "syscall"}, "syscalls", "syscall-trace")
	if text := a.whole("describe", arguments{"name": "syscalls"}); !strings.Contains(text, "--than TIME") ||
		!strings.Contains(text, "err counts") {
		t.Errorf("describe syscalls: got %s, want its options, and how to read it", text)
	}
	stop := load.Work()
	defer stop()
	pid := fmt.Sprint(load.PID())
	a.ask("run", arguments{"name": "syscalls", "options": []string{"-p", pid}, "seconds": 1},
		"clock_nanosleep(230)",
		"total(us)")
	a.ask("run", arguments{"name": "why", "options": []string{"--syscall", "clock_nanosleep", "--than",
		"100us", "-p", pid},
		"seconds": 1}, "timer", "share")
}

// TestOwnScript writes a script with a mistake, mends it, and runs it.
func TestOwnScript(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	load := testkit.StartTarget(t, "-getppid", "200000")
	a := connect(t)
	a.ask("fields", arguments{"event": "raw_syscalls:sys_enter"}, "args", "id")
	a.ask("words", arguments{"name": "stream.by"}, "stream.by(")
	const program = `
def main():
    return tracepoint("raw_syscalls:sys_enter").by(call = lambda e: e.%s).count().text(call = syscall_name).top(3)
`
	text, failed := a.call("check", arguments{"program": fmt.Sprintf(program, "idd")})
	if !failed || !strings.Contains(text, "did you mean id?") {
		t.Errorf("a misspelt field: %v %s", failed, text)
	}
	mended := fmt.Sprintf(program, "id")
	a.ask("check", arguments{"program": mended}, "question.star: ok", "tracepoint raw_syscalls:sys_enter",
		"runs")
	a.ask("explain", arguments{"program": mended}, "runs")
	stop := load.Work()
	defer stop()
	target := []string{"-p", fmt.Sprint(load.PID())}
	a.ask("run", arguments{"program": mended, "options": target, "seconds": 1}, "getppid")
	a.ask("run", arguments{"program": `tracepoint("raw_syscalls:sys_enter").by("id").count()`,
		"options": target,
		"seconds": 1, "json": true}, `"type":"table"`, `"loss"`)
}

var handles = regexp.MustCompile(`more with handle (r\d+) and offset (\d+)`)

// rest returns the request for the part of an answer that was cut; "" if
// nothing was cut.
func rest(text string) (handle string, offset int) {
	if m := handles.FindStringSubmatch(text); m != nil {
		handle = m[1]
		fmt.Sscan(m[2], &offset)
	}
	return handle, offset
}

// TestLosses asks about recordings that lost events: each answer says so, also one that was cut.
func TestLosses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const head = "x:a pid:s32\nx:b pid:s32\n1ms 0 make/7 a pid=1\n2ms 0 make/7 a pid=2\n3ms 0 lost 5\n"
	var long strings.Builder
	long.WriteString(head)
	for i := range 2000 {
		fmt.Fprintf(&long, "%dms 0 make/7 b pid=%d\n", 4+i, i)
		if i == 1000 {
			fmt.Fprintf(&long, "%dms 0 lost 7\n", 4+i)
		}
	}
	files := map[string]string{"short.ev": head + "4ms 0 make/7 b pid=1\n", "long.ev": long.String()}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	short, file := filepath.Join(dir, "short.ev"), filepath.Join(dir, "long.ev")
	a := connect(t)
	const pairs = `join([tracepoint("x:a")], [tracepoint("x:b")], key = "pid").count()`
	a.ask("run", arguments{"program": pairs, "input": short}, "lost 5 events", "2 broken")
	a.ask("run", arguments{"program": pairs, "input": short, "json": true}, `"loss":{"lost":5`,
		`"missing":5`)
	a.ask("sql", arguments{"events": []string{"x:a", "x:b"}, "input": short,
		"query": "select count(*) as n from a"}, "lost 5 events")
	a.ask("run", arguments{"name": "trace", "input": file}, "more with handle", "[its end:]\n", "pid=1999",
		"loss: lost=12")
	// The answer also has the losses of an interval in the middle, although its table
	// is left out.
	a.ask("run", arguments{"program": `tracepoint("x:b").by("pid").count()`,
		"options": []string{"-i", "200ms"}, "input": file},
		"2 lines of it report losses, the last one: lost 7 events")
}

// TestRecording asks about a recording, in SQL too, and requests the part of an
// answer that was cut.
func TestRecording(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Live...)
	dir := t.TempDir()
	file, err := filepath.Abs("../data/states.data")
	if err != nil {
		t.Fatal(err)
	}
	a := connect(t, "--record", dir)
	a.ask("recording", arguments{"file": file}, "sched:sched_switch", "losses")
	a.ask("run", arguments{"name": "oncpu", "input": file}, "COMM:TID(ms)")
	a.ask("sql", arguments{"events": []string{"sched:sched_switch"}, "input": file,
		"query": "select next_comm, count(*) as n from sched_switch group by 1 order by 2 desc limit 3"},
		"next_comm", "n")
	long := a.ask("run", arguments{"name": "trace", "options": []string{"-e", "sched:sched_switch"},
		"input": file})
	if handle, _ := rest(long); handle == "" {
		t.Fatalf("an answer of %d bytes was not cut", len(long))
	}
	all := a.whole("run", arguments{"name": "trace", "options": []string{"-e", "sched:sched_switch"},
		"input": file})
	want := testkit.Run(t, testkit.PPScript(t), "trace", "-e", "sched:sched_switch", "--input", file).Stdout
	if strings.TrimSpace(all) != strings.TrimSpace(want) {
		t.Errorf("%d bytes in parts, %d at once", len(all), len(want))
	}
	a.ask("record", arguments{"events": []string{"sched:sched_switch"}, "name": "own.data", "seconds": 0.5},
		"own.data")
	a.ask("recording", arguments{"file": filepath.Join(dir, "own.data")}, "sched:sched_switch")
	a.refused("record", arguments{"events": []string{"sched:sched_switch"}, "name": "../own.data"},
		"without a folder")
}

// TestRefused makes requests that a server which only observes must refuse.
func TestRefused(t *testing.T) {
	t.Parallel()
	a := connect(t, "--max-seconds", "2")
	tools, err := a.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "record" || !tool.Annotations.ReadOnlyHint {
			t.Errorf("tool %s of a server that only looks", tool.Name)
		}
	}
	path := filepath.Join(t.TempDir(), "out")
	for _, options := range [][]string{{"-o", path}, {"--output=" + path}, {"-go", path}, {"--flame-graph",
		path},
		{"--http", "8080"}, {"--allow", "write=/"}, {"--no-sandbox"}, {"--heatmap", path}, {"--duration",
			"1h"},
		{"--", "touch", path}} {
		options = append([]string{"-e", "sched:sched_switch"}, options...)
		a.refused("run", arguments{"name": "top", "options": options, "seconds": 1}, "option")
	}
	a.refused("run", arguments{"name": "sql", "options": []string{"-e", "sched:sched_switch", "--query",
		"select 1", "--look-only=no", "-o", path}, "seconds": 1}, "look-only")
	a.refused("run", arguments{"name": "record", "options": []string{"-F", "99"}}, "a command of ppscript")
	a.refused("run", arguments{"name": "top", "seconds": 3}, "at most 2")
	a.refused("run", arguments{"name": "top", "command": []string{"touch", path}}, "--commands")
	a.refused("run", arguments{"name": "/etc/passwd"}, "end in .star")
	a.refused("describe", arguments{"name": "no-such-profiler"}, "no such")
	a.refused("recording", arguments{"file": "/no/such/file"}, "no such file")
	a.refused("more", arguments{"handle": "r99"}, "not kept")
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written all the same")
	}
}

// TestRefusedByPlan requests outputs that are refused once the plan is known. Without rights there
// is no plan.
func TestRefusedByPlan(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, testkit.Tracefs)
	a := connect(t, "--max-seconds", "2")
	path := filepath.Join(t.TempDir(), "out")
	for _, at := range [][]string{{"--output2", path}, {"-e", "sched:sched_wakeup//push=9900/"}} {
		a.refused("run", arguments{"name": "sql", "options": append([]string{"-e", "sched:sched_switch",
			"--query", "select 1"}, at...), "seconds": 1}, "look-only")
	}
	program := `def main(): return tracepoint("sched:sched_switch").by("cpu").count().to_file("` + path + `")`
	a.refused("run", arguments{"program": program}, "--look-only")
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was written all the same")
	}
}

// TestEnds lets the client die in the middle of a run: the server ends the run
// and then itself.
func TestEnds(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append([]testkit.Need{testkit.Pgrep}, testkit.Live...)...)
	cmd := exec.Command(testkit.PPScript(t), "mcp", "--max-seconds", "30")
	in, out := testkit.StartPiped(t, cmd)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run","arguments":` +
			`{"name":"top","options":["-e","sched:sched_switch"],"seconds":30}}}`,
	} {
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
	}
	child := 0
	for deadline := time.Now().Add(10 * time.Second); child == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
		fmt.Sscan(testkit.Run(t, "pgrep", "-P", fmt.Sprint(cmd.Process.Pid)).Stdout, &child)
	}
	began := time.Now()
	in.Close()
	out.Close() // a client that only closes its end still gets the answers
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server: %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("the server ended after %v", took)
	}
	if child == 0 || testkit.Alive(child) {
		t.Errorf("the run, process %d, was not there, or is left behind", child)
	}
}

// A client that writes its requests and closes its end, as a shell does, gets its answers.
func TestClientThatClosesItsEnd(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../data/states.data")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testkit.PPScript(t), "mcp")
	var requests strings.Builder
	enc := json.NewEncoder(&requests)
	type message map[string]any
	for _, m := range []message{
		{"id": 1, "method": "initialize", "params": message{"protocolVersion": "2025-03-26",
			"capabilities": message{}, "clientInfo": message{"name": "sh", "version": "1"}}},
		{"method": "notifications/initialized"},
		{"id": 2, "method": "tools/call", "params": message{"name": "run",
			"arguments": message{"name": "oncpu", "input": file}}},
		{"id": 3, "method": "tools/call", "params": message{"name": "run",
			"arguments": message{"nome": "oncpu"}}},
	} {
		m["jsonrpc"] = "2.0"
		if err := enc.Encode(m); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Stdin = strings.NewReader(requests.String())
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":2,"result"`, "COMM:TID(ms)", `[\"nome\"]`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %s", out, want)
		}
	}
}
