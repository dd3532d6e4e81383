package join

import (
	"fmt"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// What programs make as a join gets its streams, its key and its reason here; what they
// cannot vouch for is broken.
func TestArrived(t *testing.T) {
	schema := testSchema("a")
	key, err := cexpr.Compile("k + 1", &expr.Scope{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	own := &event.Stream{Index: 1, Schema: schema}
	theirs := &event.Stream{Index: 0, Schema: schema}
	pairs, left := &event.Stream{Index: 2}, &event.Stream{Index: 3}
	var got []string
	say := func(evs []*event.Event) {
		for _, e := range evs {
			text := fmt.Sprintf("%d of %d:", e.Stream.Index, e.Derived.Start.Stream.Index)
			for _, v := range e.Derived.Slots {
				text += " " + v.String()
			}
			got = append(got, text)
		}
	}
	raw := func(k byte) []byte { return []byte{k, 15: 0} }
	unpaired := func(why Reason, at event.Time, of *event.Stream) *event.Event {
		start := &event.Event{Stream: of, Raw: raw(4), Time: at - 5}
		return &event.Event{Stream: left, Time: at, Derived: &event.Derived{
			Start: start, Slots: []event.Value{event.IntOf(5), event.IntOf(int64(why)), {}},
		}}
	}
	spec := Spec{In: []In{{Stage: -1}, {Key: key}}, NeedKey: true,
		Unpaired: Unpaired{Streams: []*event.Stream{nil, left}, To: sinkFunc(say)}}
	a := NewArrived(spec, sinkFunc(say), []*event.Stream{own}, Programs{
		Missed: func() []Gap { return nil },
		Waiting: func(why Reason, at event.Time, fn func(*event.Event)) {
			fn(unpaired(why, at, own))
			if why != Evicted {
				fn(unpaired(Broken, at, own))
			}
		}})
	a.Events([]*event.Event{{Stream: pairs, Derived: &event.Derived{
		Start: &event.Event{Stream: theirs, Raw: raw(1)}, End: &event.Event{Stream: theirs, Raw: raw(1)},
		Slots: make([]event.Value, 1),
	}}})
	a.UnpairedSink().Events([]*event.Event{unpaired(Alone, 70, theirs)})
	a.End(false, 80) // nobody wants what waits
	a.End(true, 60)
	want := []string{"2 of 1: 2", "3 of 1: 5 alone 5", "3 of 1: 5 evicted 5", "3 of 1: 5 evicted 5",
		"3 of 1: 5 exit 5", "3 of 1: 5 lost 5"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if s, l := a.Stats(), a.Loss(); s.Pairs != 1 || l.Broken != 1 || a.Loss().Broken != 0 {
		t.Errorf("got %+v, loss %+v, want a pair, and one that is broken", s, l)
	}
}

// TestArrivedAcrossGaps checks that pairs between whose events programs may have missed one are
// broken, and not handed on.
func TestArrivedAcrossGaps(t *testing.T) {
	of, pairs := &event.Stream{Schema: testSchema("a")}, &event.Stream{Index: 1}
	pair := func(from, to event.Time) *event.Event {
		start := &event.Event{Stream: of, Time: from}
		return &event.Event{Stream: pairs, Time: to, Derived: &event.Derived{
			Start: start, End: &event.Event{Stream: of, Time: to}, Slots: make([]event.Value, 1)}}
	}
	var got []string
	say := func(evs []*event.Event) {
		for _, e := range evs {
			got = append(got, fmt.Sprintf("%d-%d", e.Derived.Start.Time, e.Time))
		}
	}
	a := NewArrived(Spec{In: []In{{}}}, sinkFunc(say), []*event.Stream{of}, Programs{
		Missed: func() []Gap { return []Gap{{10, 20}, {50, 60}} },
	})
	a.Events([]*event.Event{pair(1, 9), pair(1, 10), pair(12, 15), pair(20, 30), pair(21, 49), pair(5, 100),
		pair(40, 55), pair(60, 61), pair(61, 62)})
	if want := []string{"1-9", "21-49", "61-62"}; !slices.Equal(got, want) {
		t.Errorf("got pairs %v, want %v", got, want)
	}
	if l := a.Loss(); l.Broken != 6 {
		t.Errorf("got loss %+v, want 6 that are broken", l)
	}
}
