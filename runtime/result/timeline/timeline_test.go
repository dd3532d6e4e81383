package timeline

import (
	"fmt"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// list keeps what it is given.
type list struct{ items []Item }

func (l *list) Write(it *Item) { l.items = append(l.items, *it) }
func (l *list) Rename(*Track)  {}
func (l *list) ForgetStacks()  {}
func (l *list) Flush() error   { return nil }
func (l *list) Close() error   { return nil }

// pair is a pair on a thread, with a depth if it is not negative.
func pair(st *event.Stream, tid int32, from, to event.Time, depth int) *event.Event {
	part := &event.Stream{Index: 1, Schema: &event.Schema{System: "demo", Name: "part"}}
	e := &event.Event{Stream: st, Time: to, PID: tid, TID: tid, Derived: &event.Derived{
		Start: &event.Event{Stream: part, Rec: []byte{1}, Time: from, PID: tid, TID: tid},
		End:   &event.Event{Stream: part, Rec: []byte{1}, Time: to, PID: tid, TID: tid},
	}}
	if depth >= 0 {
		e.Derived.Slots = []event.Value{event.IntOf(7), event.IntOf(int64(depth))}
	}
	return e
}

func tracksOf(items []Item) (ids []uint64) {
	for _, it := range items {
		ids = append(ids, it.Track.ID)
	}
	return ids
}

// Slices that overlap lie on tracks beside each other; a track is used again once its last
// slice is over.
func TestSlicesThatOverlap(t *testing.T) {
	st := &event.Stream{Label: "call", Schema: &event.Schema{Name: "pair"}}
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	b.Events([]*event.Event{
		pair(st, 1, 10, 20, -1), pair(st, 1, 15, 25, -1), pair(st, 1, 20, 30, -1), pair(st, 2, 0, 31, -1),
	})
	// Threads 1 and 2 have the tracks 1 and 4.
	if got := fmt.Sprint(tracksOf(out.items)); got != "[2 3 2 5]" {
		t.Errorf("got tracks %s, want 2 3 2 5", got)
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

// TestCallsLieByDepth checks that calls lie on the track of their depth, although the inner ones
// come first.
func TestCallsLieByDepth(t *testing.T) {
	st := &event.Stream{Label: "call", Schema: &event.Schema{Name: "pair", Fields: []event.Field{
		{Name: "depth", Place: event.InSlot, Offset: 1, Signed: true}}}}
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	b.Events([]*event.Event{
		pair(st, 1, 12, 14, 1), pair(st, 1, 15, 16, 1), pair(st, 1, 10, 20, 0), pair(st, 1, 21, 22, 1),
	})
	if got := fmt.Sprint(tracksOf(out.items)); got != "[2 2 3 2]" {
		t.Errorf("got tracks %s, want those of the depths 1 1 0 1", got)
	}
}

// However many threads there are, bounded many are remembered, and numbers of tracks grow.
func TestThreadsAreForgotten(t *testing.T) {
	st := &event.Stream{Schema: &event.Schema{System: "demo", Name: "event"}}
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	last := uint64(0)
	for tid := int32(1); tid < 2*maxTracks; tid++ {
		out.items = out.items[:0]
		b.Events([]*event.Event{{Stream: st, Rec: []byte{1}, PID: tid, TID: tid}})
		if id := out.items[0].Track.ID; id <= last {
			t.Fatalf("thread %d: got track %d behind %d", tid, id, last)
		}
		last = out.items[0].Track.ID
	}
	if n := len(b.tracks.threads); n > maxTracks {
		t.Errorf("got %d threads, want %d at most", n, maxTracks)
	}
}

// TestTables checks that numbers of tables are counters since the begin of their interval; of rows
// that are gone 0. Rows that come when there are too many are left out, and counted.
func TestTables(t *testing.T) {
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	table := func(seq int, begin event.Time, ids ...int64) *result.Table {
		x := &result.Table{Columns: []result.Column{{Name: "id", Kind: result.KeyColumn}, {Name: "n"},
			{Name: "text"}}}
		x.Name, x.Seq, x.Begin = "calls", seq, begin
		for _, id := range ids {
			row := []event.Value{event.IntOf(id), event.UintOf(uint64(10 * id)), event.StrOf("no number")}
			x.Rows = append(x.Rows, row)
		}
		return x
	}
	b.Table(table(0, 5, 1)) // there are no intervals
	b.Table(table(1, 10, 1, 2))
	b.Table(table(2, 20, 2))
	got := ""
	for _, it := range out.items {
		got += fmt.Sprintf("%d %s/%s %v; ", it.Time, it.Track.Parent.Name, it.Track.Name, it.Value)
	}
	if want := "10 calls/1: n 10; 10 calls/2: n 20; 20 calls/2: n 20; 20 calls/1: n 0; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	many := make([]int64, maxCounters+5)
	for i := range many {
		many[i] = int64(i)
	}
	b.Table(table(3, 30, many...))
	b.Table(table(4, 40, many...))
	if b.Uncounted() != 5 {
		t.Errorf("got %d numbers without room, want 5", b.Uncounted())
	}
}

// What was left out for a budget is a counter among what is missing, once something was.
func TestObserved(t *testing.T) {
	out := &list{}
	b := New(Options{Writers: []Writer{out}})
	b.Observed(nil, 5)
	b.Observed(&result.Cost{Events: 1, Time: 1}, 10)
	if len(out.items) > 0 {
		t.Errorf("got %v where all was observed", out.items)
	}
	b.Observed(&result.Cost{Events: 0.5, Time: 0.5}, 20)
	b.Observed(&result.Cost{Events: 1, Time: 1}, 30)
	var got []string
	for _, it := range out.items {
		got = append(got, fmt.Sprint(it.Kind == Counter, " ", it.Name, " ", it.Time, " ", it.Value))
	}
	const name = "left out for the budget, % of events"
	want := fmt.Sprint([]string{"true " + name + " 20 75", "true " + name + " 30 0"})
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
