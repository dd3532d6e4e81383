package reading

import (
	"maps"
	"os"
	"testing"

	"ppscript/runtime/event"
)

// A listed thread has one event, at the time of the first of the run; one that is gone has none.
func TestThreads(t *testing.T) {
	var list Threads
	own := int32(os.Getpid())
	list.List(maps.Keys(map[int32]bool{own: true, 1<<22 + 1: true}))
	list.add(thread{own, own, "renamed"})
	st := &event.Stream{Schema: ThreadSchema()}
	evs := list.Events(st, 77)
	if len(evs) != 1 {
		t.Fatalf("got %d events, want 1", len(evs))
	}
	e := evs[0]
	slots := e.Derived.Slots
	if e.Stream != st || e.Time != 77 || e.TID != own || slots[ThreadTID].Int() != int64(own) ||
		slots[ThreadPID].Int() != int64(own) || slots[ThreadComm].String() != "renamed" {
		t.Errorf("got %v at %d: %v", e.Stream, e.Time, slots)
	}
	list = Threads{}
	list.List(nil)
	if all := list.Events(st, 1); len(all) < 2 {
		t.Errorf("got %d threads of the machine, want those of init and our own", len(all))
	}
}
