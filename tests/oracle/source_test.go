package oracle

import (
	"encoding/json"
	"testing"

	"ppscript/tests/testkit"
)

// Profilers among the events of a log: each is as long as its -N says, all come
// in time order, and the events beside them are those of the target, although
// task-state attaches them all to CPUs.
func TestProfilersAreSources(t *testing.T) {
	live(t, testkit.AMD64)
	out := testkit.Run(t, testkit.PPScript(t), "trace", "--order", "--format", "json", "-e",
		"raw_syscalls:sys_enter/id == 110/,task-state/-N 5/,page-faults/-N 10/,profile/-F 2000 -N 3/",
		"--", testkit.Load(t), "-getppid", "20", "-fault", "100", "-spin", "30", "-sleep", "10").Want(t, 0)
	got := map[string]int{}
	last := int64(0)
	for _, e := range testkit.Events(t, out.Stdout) {
		got[e.Event]++
		if e.Time < last {
			t.Errorf("%s at %d comes after %d", e.Event, e.Time, last)
		}
		last = e.Time
	}
	profiled := got["hardware:cycles"] + got["software:cpu-clock"]
	if got["raw_syscalls:sys_enter"] != 20 || got["fold:task-state"] != 5 || got["software:page-faults"] != 10 || profiled != 3 {
		t.Errorf("got %v, want 20 system calls, 5 states, 10 faults, 3 samples\nstderr: %s", got, out.Stderr)
	}

	// What counts is what the source shows, not what it is made of.
	out = testkit.Run(t, testkit.PPScript(t), "trace", "--format", "json", "-e", "task-state//", "-N", "7", "--",
		testkit.Load(t), "-sleep", "50").Want(t, 0)
	if n := len(testkit.Events(t, out.Stdout)); n != 7 {
		t.Errorf("-N 7: got %d lines", n)
	}
}

// A source shows what happened during a slow pair: the task slept, and where.
func TestSourceShowsTheMiddleOfAPair(t *testing.T) {
	live(t)
	// All switches of the machine go through the rings.
	out := testkit.Run(t, testkit.PPScript(t), "multi-trace", "-m", "8192", "-e", "raw_syscalls:sys_enter", "-e",
		"raw_syscalls:sys_exit,task-state/-g/untraced/", "--order", "--than", "100ms", "--detail=sametid", "--format", "json", "--", "sleep", "0.1").Want(t, 0)
	const slept = 2 // S, as task-state numbers states
	found := 0
	for _, r := range testkit.Records(t, out.Stdout) {
		if r.Type != "detail" {
			continue
		}
		var d struct {
			Delay  int64
			Start  struct{ TID int }
			Events []struct {
				Part, Event string
				Fields      struct{ Task, State, Lasted int64 }
				Stack       []struct{ Symbol string }
			}
		}
		if err := json.Unmarshal(r.Data, &d); err != nil {
			t.Fatal(err)
		}
		for _, e := range d.Events {
			f := e.Fields
			if e.Part != "between" || e.Event != "fold:task-state" || f.State != slept || f.Task != int64(d.Start.TID) {
				continue
			}
			found++
			if f.Lasted < 100e6 || f.Lasted > d.Delay {
				t.Errorf("got a sleep of %d ns in a call of %d", f.Lasted, d.Delay)
			}
			if len(e.Stack) == 0 {
				t.Errorf("the sleep has no stack: %s", r.Data)
			}
		}
	}
	if found != 1 {
		t.Errorf("got %d sleeps, want one\n%s\nstderr: %s", found, out.Stdout, out.Stderr)
	}
}
