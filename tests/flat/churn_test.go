package main

import (
	"runtime"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
	"ppscript/runtime/target/task"
)

// The memory for processes and their stacks does not grow with the number of
// processes that come and go: here a quarter of a million, one of which has a
// stack that is held all the time.
func TestProcessesComeAndGo(t *testing.T) {
	maps := task.NewMappings(task.MappingsOptions{NoProc: true})
	defer maps.Close()
	stacks := stack.New(stack.Options{Fresh: func(pid int32, when event.Time) { maps.Hold(pid, when) }})
	when := event.Time(0)
	run := func(pid int32) stack.ID {
		when += 1000
		maps.Fork(pid, 1, when)
		maps.Exec(pid, when)
		stacks.Exec(pid)
		for i := range uint64(4) {
			maps.Map(&perf.Mapping{
				PID: pid, Addr: 0x1000 + i<<20, Len: 1 << 19, Name: "/bin/x", BuildID: []byte{byte(i)},
			}, when)
		}
		var id stack.ID
		for i := range uint64(3) {
			// PERF_CONTEXT_USER
			id = stacks.Intern(pid, when, []uint64{^uint64(511), 0x1000 + uint64(pid), 0x2000 + i})
		}
		maps.Exit(pid)
		return id
	}
	held := run(10)
	churn := func(from, until int32) {
		for pid := from; pid < until; pid++ {
			if run(pid) == stack.Full {
				t.Fatalf("process %d: no room for its stack", pid)
			}
			if stacks.Crowded() {
				maps.Release(func() { stacks.Retain(map[stack.ID]bool{held: true}) })
			}
		}
	}
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	churn(1000, 50_000)
	before := live()
	churn(50_000, 250_000)
	after := live()
	// Stacks and processes are released only when there are enough to be worth
	// the time, so some accumulate in between.
	const slack = 16 << 20
	if after > before+slack || stacks.Len() > stack.DefaultStacks/16 ||
		maps.Stats().Spaces > 2*(4096+stack.DefaultStacks/16) {
		t.Errorf("got %d bytes after %d, %d stacks, %+v", after, before, stacks.Len(), maps.Stats())
	}
	s, ok := stacks.At(held)
	if r, found := maps.Find(10, 0x1000, s.When); !ok || s.PID != 10 || s.Chain[1] != 0x100a || !found ||
		r.Name != "/bin/x" {
		t.Errorf("got %+v, %v; want the stack that is held, and what its process had mapped", s, r)
	}
	runtime.KeepAlive(maps)
}
