package tiers

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// Scripts for which programs send a known number of calls in each form: projected
// records, whole records, with later texts, pairs, and emitted events.
var sentForms = map[string]string{
	"fields": `
def main(o):
    calls = tracepoint("raw_syscalls:sys_enter").where("id == 110 && id * 2 == 220")
    return calls.agg(n = agg.count(), last = agg.last("args[0]"), seen = agg.distinct("args[0]"))
`,
	"whole records": `
def main(o):
    return tracepoint("raw_syscalls:sys_enter").where("id == 110 && nr_running >= 0").log()
`,
	"texts": `
def main(o):
    opens = tracepoint("syscalls:sys_enter_openat").where("flags == 0 && mode == 0 && nr_running >= 0")
    return opens.log(fields = {"file": "user_string(filename)"})
`,
	"pairs": `
def main(o):
    enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
    return join([enter], [exit], key = "_tid").where("start.id == 110").log()
`,
	"emits": `
def step(s, e):
    s.n += 1
    emit(n = s.n)

def main(o):
    return tracepoint("raw_syscalls:sys_enter").where("id == 110").fold("_tid", {"n": 0}, step).log()
`,
}

// arrived returns the number of lines, or of events in a table, of a run, and the number
// of lost ones. A pair has one line for its start and one for its end.
func arrived(t *testing.T, out testkit.Output, perEvent int64) (seen, lost int64) {
	t.Helper()
	seen = int64(len(testkit.Events(t, out.Stdout))) / perEvent
	for _, table := range testkit.Tables(t, out.Stdout) {
		for _, r := range table.Rows {
			seen += r.Int(t, "n")
		}
		lost += table.Loss["lost"]
	}
	for _, loss := range testkit.All[map[string]any](t, out.Stdout, "loss") {
		lost += testkit.Row(loss).Int(t, "lost")
	}
	return seen, lost
}

// While the reader is stopped, with a buffer of one page, nearly everything is lost:
// arrived and lost events together are all events, in each form.
func TestLossOfPausedReadersIsExact(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls = 20000
	for name, program := range sentForms {
		t.Run(name, func(t *testing.T) {
			l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-fail", fmt.Sprint(calls))
			p := run(t, l, "bpf", program, "-m", "1")
			p.Suspend()
			l.Do()
			p.Signal(syscall.SIGCONT)
			out := p.Stop().Want(t, 0)
			perEvent := int64(1)
			if name == "pairs" {
				perEvent = 2
			}
			seen, lost := arrived(t, out, perEvent)
			l.End()
			if seen+lost != calls || seen == 0 || lost < calls/2 {
				t.Errorf("got %d and %d lost, want %d together, most of them lost: %s", seen, lost, calls,
					out.Stderr)
			}
		})
	}
}

// Late texts use a buffer of their own. Calls whose text is lost, and calls that are lost
// themselves, are all counted.
func TestLossOfLateTextsIsExact(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const (
		calls = 400
		mode  = 0o1735 // only these calls have this mode
		name  = "/no/such/late/file"
	)
	names := testkit.UntouchedTexts(t, calls, func(int) string { return name })
	program := script(t, strings.ReplaceAll(sentForms["texts"], "mode == 0", fmt.Sprintf("mode == %d", mode)))
	p := testkit.Start(t, testkit.PPScript(t), program, "-p", strconv.Itoa(os.Getpid()),
		"--format", "json", "-v", "-m", "1")
	p.WaitStderr(" open event")
	p.Suspend()
	runtime.LockOSThread()
	for _, at := range names {
		unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), at, 0, mode, 0, 0)
	}
	runtime.UnlockOSThread()
	p.Signal(syscall.SIGCONT)
	out := p.Stop().Want(t, 0)
	seen, lost := arrived(t, out, 1)
	if seen+lost != calls || seen == 0 || lost == 0 {
		t.Errorf("got %d and %d lost, want %d together, and both: %s", seen, lost, calls, out.Stdout)
	}
	for _, e := range testkit.Events(t, out.Stdout) {
		if text := e.Fields["file"]; text != name && text != "<fault>" {
			t.Errorf("got %q, want %q, or that it is missing", text, name)
		}
	}
}

// Rings that have only records about processes lose no events: if programs send all events,
// the run reports this, and that names may be missing.
func TestLostNamesAreNoLostEvents(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	l := testkit.StartTarget(t, "-getppid", "10", "-exec", "200")
	p := run(t, l, "bpf", sentForms["pairs"], "-m", "1")
	p.Suspend()
	l.Do()
	p.Signal(syscall.SIGCONT)
	out := p.Stop().Want(t, 0)
	l.End()
	lines := len(testkit.Events(t, out.Stdout))
	if lost := strings.Contains(out.Stdout, `"lost"`); lines != 2*10 || lost {
		t.Errorf("got %d lines, lost events %v; want 20, false: %s", lines, lost, out.Stdout)
	}
	if !strings.Contains(out.Stderr, "records about processes were lost, no events") {
		t.Errorf("nothing tells that names may be missing: %s", out.Stderr)
	}
}
