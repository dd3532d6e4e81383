package timeline

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// TestExplainedSpans checks that causes lie below the thread whose time they are, and a wait leads
// to what was waited for.
func TestExplainedSpans(t *testing.T) {
	db := result.WhyTask{TID: 1, PID: 1, Comm: "db"}
	worker := result.WhyTask{TID: 2, PID: 1, Comm: "worker\x1b"}
	user := result.WhyLink{Task: db, Kind: result.WhyUser}
	wait := result.WhyLink{Task: db, Kind: result.WhyThread, What: "pipe", Whom: worker}
	wait.Stack, wait.WakerStack = 5, 6
	disk := result.WhyLink{Task: worker, Kind: result.WhyDisk, What: "vda read, device"}
	works := result.WhyLink{Task: worker, Kind: result.WhyUser}
	of := func(from event.Time) *result.WhySpan {
		part := func(at, to event.Time, path ...result.WhyLink) result.WhyPart {
			return result.WhyPart{From: from + at, To: from + to, Path: path}
		}
		return &result.WhySpan{Label: "read", Task: db, From: from, To: from + 100, Parts: []result.WhyPart{
			part(0, 10, user), part(10, 70, wait, disk), part(70, 90, wait, works), part(90, 100, user)}}
	}
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	b.Why([]*result.WhySpan{of(2000), of(1000)})
	if len(out.items) != 12 {
		t.Fatalf("got %d slices, want 12", len(out.items))
	}
	for i, want := range []string{
		"slow 1000-1100 tid 1: read of db/1 took 100ns, leads 0 follows 0, stacks 0 0",
		"why 1000-1010 tid 1: user code, leads 0 follows 0, stacks 0 0",
		"why 1010-1090 tid 1: waiting for worker\\x1b/2 (pipe), leads 1 follows 0, stacks 5 6",
		"why 1010-1070 tid 2: disk vda read, device, leads 0 follows 1, stacks 0 0",
		"why 1070-1090 tid 2: user code, leads 0 follows 0, stacks 0 0",
		"why 1090-1100 tid 1: user code, leads 0 follows 0, stacks 0 0",
		"slow 2000-2100 tid 1: read of db/1 took 100ns, leads 0 follows 0, stacks 0 0",
	} {
		it := &out.items[i]
		got := fmt.Sprintf("%s %d-%d tid %d: %s, leads %d follows %d, stacks %d %d", it.Track.Name, it.Time,
			it.End, it.Track.Parent.TID, it.Name, it.Leads, it.Follows, it.Stack, it.EndStack)
		if got != want {
			t.Errorf("slice %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
	last := map[uint64]event.Time{}
	for _, it := range out.items {
		if it.Time < last[it.Track.ID] {
			t.Errorf("slice from %d begins before %d, the end of the last one on its track", it.Time,
				last[it.Track.ID])
		}
		last[it.Track.ID] = it.End
	}
}
