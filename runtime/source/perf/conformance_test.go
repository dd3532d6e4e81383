package perf

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/event/eventtest"
)

func TestConformance(t *testing.T) {
	needRoot(t)
	h := startHelper(t)
	for _, c := range []struct {
		name   string
		target Target
	}{{"cpus", Target{}}, {"thread", Target{TIDs: []int{h.tid}}}, {"process", Target{PIDs: []int{h.pid}}}} {
		t.Run(c.name, func(t *testing.T) {
			eventtest.Run(t, eventtest.Suite{
				Open: func(t *testing.T) event.Source {
					exit := getppid(t, h.tid)
					exit.Schema = tracepoint(t, "raw_syscalls:sys_exit", "id")
					s, err := Open(t.Context(),
						Config{Events: []EventConfig{getppid(t, h.tid), exit}, Target: c.target,
							SideBand: SideBand{Comm: true, Task: true}, Pages: 2})
					if err != nil {
						t.Fatal(err)
					}
					h.do("call 200") // so that there is something, and a loss
					return s
				},
				Polls:    4,
				Activity: func() { h.do("call 70") },
				Least:    100,
			})
		})
	}
}
