package tiers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// stacking has a fold that emits the stack of the current event, one that emits the stack
// of an earlier event, also when its states are flushed, and one that does both and keeps
// the event that began its state.
const stacking = `
enter, exit = tracepoint("raw_syscalls:sys_enter").stack(), tracepoint("raw_syscalls:sys_exit").let(id = "-1")

def at_hand(s, e):
    s.n += 1
    if e.id == 110:
        emit(nr = e.id, n = s.n)

def before(s, e):
    if e.event == "sys_enter":
        s.at, s.nr = e.at, e.id
    elif s.nr == 110:
        s.n += 1
        emit(nr = s.nr, n = s.n, waker_stack = s.at)

def left(s, e):
    if s.n:
        emit(nr = -2, n = s.n, waker_stack = s.at)

def between(s, e):
    if e.event == "sys_enter":
        s.since, s.nr = e.time, e.id
    elif s.nr == 110:
        s.n += 1
        emit(nr = s.nr, n = s.n)

both = merge(enter.let(at = "stack"), exit.let(at = 0))

def main(o):
    return [
        enter.fold("_tid", {"n": 0}, at_hand).log(),
        both.fold("_tid", {"nr": -1, "n": 0, "at": 0}, before, flush = left).log(),
        both.fold("_tid", {"nr": -1, "n": 0, "since": 0}, between, begin = "since").log(
            fields = {"nr": "nr", "n": "n"}, heading = lambda e: fmt("heading {}", e.nr)),
    ]
`

// Stacks that folds emit are the same if programs run the folds, including stacks of
// earlier events.
func TestStacksOfEmitsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls = 40
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
		l.OnOneCPU()
		inside, native := run(t, l, "bpf", stacking), run(t, l, "perf", stacking)
		l.Do()
		a, b := inside.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		if !strings.Contains(a.Stderr, "sends what matches") {
			t.Fatalf("got %s, want programs that send them", a.Stderr)
		}
		x, y := withStacks(t, a.Stdout), withStacks(t, b.Stdout)
		if !slices.Equal(x, y) || len(x) < 3*calls {
			wrong = append(wrong, fmt.Sprintf("got %d lines, want %d:\n%s\nwant\n%s", len(x), 3*calls,
				strings.Join(x, "\n"), strings.Join(y, "\n")))
		}
		stacks := 0
		for _, line := range y {
			stacks += strings.Count(line, "entry_SYSCALL")
		}
		if stacks < 2*calls {
			wrong = append(wrong, fmt.Sprintf("got %d stacks, want %d", stacks, 2*calls))
		}
		return wrong
	})
}

// Programs do not have room for the stacks of many processes, unless --engine bpf is given.
func TestStacksOfAllAreHeldHere(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	path := script(t, stacking)
	const here = "find more room in ppscript"
	for _, c := range []struct {
		args []string
		want bool
	}{
		{nil, true}, {[]string{"--", "true"}, true}, {[]string{"-p", "1"}, false}, {[]string{"--engine", "bpf"}, false},
	} {
		out := testkit.Run(t, append([]string{testkit.PPScript(t), "explain", path}, c.args...)...).Want(t, 0)
		if got := strings.Contains(out.Stdout, here); got != c.want {
			t.Errorf("%v: got %s, want %q: %t", c.args, out.Stdout, here, c.want)
		}
	}
}

// withStacks returns the lines of logs with their stacks, sorted and without
// times.
func withStacks(t *testing.T, output string) (list []string) {
	t.Helper()
	for _, e := range testkit.Events(t, output) {
		line := fmt.Sprintf("%s %s %d %v", e.Event, e.Comm, e.TID, e.Fields)
		for _, stack := range [][]testkit.Frame{e.Stack, e.Waker} {
			line += ";"
			for _, f := range stack {
				line += " " + cmp.Or(f.Symbol, f.Addr)
			}
		}
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}
