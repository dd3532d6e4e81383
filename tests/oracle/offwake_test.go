package oracle

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A chain is a thread that slept, and the thread that woke it.
type chain struct{ woken, waker string }

// sleepsOf returns the sleeps in the lines of a recording: from a switch to the
// wake-up.
func sleepsOf(lines []line) map[chain]delay {
	type begin struct {
		comm string
		time int64
	}
	asleep, sleeps := map[string]begin{}, map[chain]delay{}
	for _, l := range lines {
		switch l.event {
		case "sched:sched_switch":
			tid := between(l.text, "prev_pid=", " ")
			if state := between(l.text, "prev_state=", " "); tid != "0" && !strings.HasPrefix(state, "R") {
				asleep[tid] = begin{between(l.text, "prev_comm=", " prev_pid="), l.time}
			} else {
				delete(asleep, tid)
			}
		case "sched:sched_waking":
			tid := between(l.text, " pid=", " ")
			if b, ok := asleep[tid]; ok {
				c := chain{b.comm, l.comm}
				d := sleeps[c]
				d.add(l.time - b.time)
				sleeps[c] = d
				delete(asleep, tid)
			}
		}
	}
	return sleeps
}

// Sleeper, waker, number and length of sleeps equal those in perf script's lines, to the ns.
func TestOffwakeEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf)
	file, lines := perfRecord(t, "-e", "sched:sched_switch,sched:sched_waking", "--", testkit.Load(t),
		"-switch", "300")
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	want := sleepsOf(lines)
	out := testkit.Run(t, testkit.PPScript(t), "offwake", "--input", file, "--rows", "100000",
		"--format", "json").Want(t, 0)
	got := map[chain]delay{}
	for _, r := range last(t, out.Stdout).Rows {
		c := chain{r.Text(t, "woken"), r.Text(t, "waker")}
		d := got[c] // each state has a row
		d.calls, d.total = d.calls+r.Int(t, "sleeps"), d.total+r.Int(t, "total")
		d.max = max(d.max, r.Int(t, "max"))
		got[c] = d
	}
	sleeps := int64(0)
	for c, w := range want {
		if g := got[c]; g.calls != w.calls || g.total != w.total || g.max != w.max {
			t.Errorf("%s woken by %s: got %+v, want %+v", c.woken, c.waker, g, w)
		}
		sleeps += w.calls
	}
	if len(got) != len(want) || sleeps < 300 {
		t.Errorf("got %d chains, want %d, of %d sleeps", len(got), len(want), sleeps)
	}
}

// A reader of a pipe sleeps in its read until the writer's write: the two stacks are one
// below the other.
func TestOffwakeShowsBothStacks(t *testing.T) {
	live(t)
	const writes = 20
	pipe := `for i in $(seq ` + strconv.Itoa(writes) + `); do sleep 0.02; echo; done | cat >/dev/null`
	out := testkit.Run(t, testkit.PPScript(t), "offwake", "--stacks", "--of", "cat", "--rows", "1000",
		"--format", "json", "--", "sh", "-c", pipe).Want(t, 0)
	type stacks struct {
		Stacks []struct {
			Key   map[string]any
			Count int64
			Value int64
			Stack []testkit.Frame
		}
	}
	count, asleep := int64(0), int64(0)
	for _, r := range testkit.All[stacks](t, out.Stdout, "stacks") {
		for _, s := range r.Stacks {
			names := ""
			for _, f := range s.Stack {
				names += f.Symbol + ";"
			}
			above, below, two := strings.Cut(names, ";--;")
			if s.Key["waker"] == "sh" && two && strings.Contains(above, "pipe_write") &&
				strings.Contains(below, "pipe_read") {
				count, asleep = count+s.Count, asleep+s.Value
			}
		}
	}
	// The writer sleeps for 20 ms before each write; a busy machine may keep the reader from its read.
	if count < writes/2 || count > writes || asleep < count*15e6 {
		t.Errorf("got %d sleeps of %d ns in the pipe, want up to %d of 20 ms:\n%s", count, asleep,
			writes, out.Stdout)
	}
}
