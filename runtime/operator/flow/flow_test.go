package flow

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

var schema = &event.Schema{
	Name: "ev", Size: 4, Fields: []event.Field{{Name: "id", Type: "int", Size: 4, Signed: true}},
}

func streams(n int) []*event.Stream {
	var out []*event.Stream
	for i := range n {
		out = append(out, &event.Stream{Index: i, Schema: schema})
	}
	return out
}

func ev(s *event.Stream, at event.Time, id int32) *event.Event {
	return &event.Event{Time: at, Stream: s, Raw: binary.LittleEndian.AppendUint32(nil, uint32(id))}
}

// tape writes down the events that a sink receives: "stream@time" and losses.
type tape struct{ log []string }

func (p *tape) Events(evs []*event.Event) {
	for _, e := range evs {
		p.log = append(p.log, fmt.Sprintf("%d@%d", e.Stream.Index, e.Time))
	}
}
func (p *tape) Lost(ring int32, n uint64, t event.Time) {
	p.log = append(p.log, fmt.Sprintf("lost %d@%d", n, t))
}
func (p *tape) take() string {
	s := strings.Join(p.log, " ")
	p.log = nil
	return s
}

func TestRouterKeepsOrderAndSplits(t *testing.T) {
	st := streams(3)
	var all, some tape
	r := &Router{}
	r.Add(&all, []int{0, 1, 2}, 3)
	r.Add(&some, []int{1}, 3)
	r.Events([]*event.Event{
		ev(st[0], 1, 0), ev(st[1], 2, 0),
		{Kind: event.Lost, Time: 2, Count: 7},
		ev(st[2], 3, 0), ev(st[1], 4, 0),
	})
	if got, want := all.take(), "0@1 1@2 lost 7@2 2@3 1@4"; got != want {
		t.Errorf("all: got %s, want %s", got, want)
	}
	if got, want := some.take(), "1@2 lost 7@2 1@4"; got != want {
		t.Errorf("some: got %s, want %s", got, want)
	}
	if r.Samples != 4 || r.LostN != 7 || r.First != 1 || r.Last != 4 {
		t.Errorf("got %d samples %d lost %d..%d, want 4, 7, 1..4", r.Samples, r.LostN, r.First, r.Last)
	}
}

func TestRouterLimitIsExact(t *testing.T) {
	st := streams(1)
	var p tape
	r := &Router{Limit: 3}
	r.Add(&p, []int{0}, 1)
	for range 3 {
		r.Events([]*event.Event{ev(st[0], 1, 0), ev(st[0], 2, 0)})
	}
	if got := p.take(); got != "0@1 0@2 0@1" || !r.LimitReached() || r.Samples != 3 {
		t.Errorf("got %s with %d samples, want exactly three", got, r.Samples)
	}
}

// TestRouterLimitCountsWhatPasses checks that events of a recording that are not the plan's, and
// events that a filter rejects, use up nothing of the limit.
func TestRouterLimitCountsWhatPasses(t *testing.T) {
	st := streams(2)
	other := &event.Stream{Index: 1, Schema: schema}
	p, err := cexpr.Compile("id > 1", &expr.Scope{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	var out tape
	r := &Router{Limit: 3, Remap: [][]*event.Stream{{st[0]}, nil}}
	r.Filter(0, p)
	r.Add(&out, []int{0}, 1)
	r.Events([]*event.Event{
		ev(st[0], 1, 1), ev(other, 2, 5), ev(st[0], 3, 2), ev(other, 4, 5), ev(st[0], 5, 3),
	})
	if got, want := out.take(), "0@3 0@5"; got != want || r.Samples != 2 || r.LimitReached() {
		t.Errorf("got %s, %d samples, done %v, want %s", got, r.Samples, r.LimitReached(), want)
	}
	r.Events([]*event.Event{ev(st[0], 6, 0), ev(st[0], 7, 7), ev(st[0], 8, 8)})
	if got, want := out.take(), "0@7"; got != want || r.Samples != 3 || !r.LimitReached() || r.First != 3 ||
		r.Last != 7 {
		t.Errorf("got %s, %d samples from %d to %d, want %s", got, r.Samples, r.First, r.Last, want)
	}
}

// TestRouterSkipsOurselves checks that events that only printers read are left out before they
// count.
func TestRouterSkipsOurselves(t *testing.T) {
	st := streams(2)
	var p, q tape
	r := &Router{Self: Self{PID: 42}, Limit: 2}
	printer := &Others{Next: &p, Self: &r.Self}
	r.Add(printer, []int{0, 1}, 2)
	r.Add(&q, []int{1}, 2)
	mine, other, counted := ev(st[0], 1, 0), ev(st[0], 2, 0), ev(st[1], 3, 0)
	mine.PID, counted.PID = 42, 42
	r.Events([]*event.Event{mine, other, counted})
	if got := p.take() + ", " + q.take(); got != "0@2, 1@3" || r.Self.HeldBack != 2 || r.Samples != 2 {
		t.Errorf(
			"got %s with %d held back, %d counted; want the other process's event, and ours where it is counted",
			got, r.Self.HeldBack, r.Samples)
	}
}

func TestOthers(t *testing.T) {
	st := streams(3)
	var p tape
	self := &Self{PID: 42, Own: func(_ *event.Event, tid int32) bool { return tid == 43 }}
	o := &Others{Next: &p, Self: self, About: []About{{}, {Whom: Thread, Slot: 1}, {Whom: Nobody}}}
	by := func(pid int32, e *event.Event, start ...int32) *event.Event {
		e.PID = pid
		if len(start) > 0 {
			e.Derived = &event.Derived{Start: &event.Event{PID: start[0]}, End: &event.Event{PID: pid}}
		}
		return e
	}
	about := func(tid int64, pid int32, e *event.Event) *event.Event {
		e.Derived = &event.Derived{Slots: []event.Value{event.IntOf(42), event.IntOf(tid)}}
		return by(pid, e)
	}
	evs := []*event.Event{
		by(42, ev(st[0], 1, 0)),
		by(7, ev(st[0], 2, 0)),
		by(42, ev(st[0], 3, 0), 42),
		by(42, ev(st[0], 4, 0), 7),
		by(7, ev(st[0], 5, 0), 42),
		about(43, 7, ev(st[1], 6, 0)),
		about(7, 42, ev(st[1], 7, 0)),
		by(42, ev(st[2], 8, 0)),
	}
	o.Events(evs)
	if got, want := p.take(), "0@2 0@4 0@5 1@7 2@8"; got != want || self.HeldBack != 3 {
		t.Errorf("got %s with %d held back, want %s", got, self.HeldBack, want)
	}
	self.PID = 0
	o.Events(evs[:1])
	if got := p.take(); got != "0@1" {
		t.Errorf("nothing to hide: got %s, want 0@1", got)
	}
}

func TestRouterRemap(t *testing.T) {
	source, mine := streams(3), streams(4)
	var p tape
	r := &Router{Remap: [][]*event.Stream{{mine[3]}, {mine[0], mine[1]}, nil}}
	r.Add(&p, []int{0, 1, 2, 3}, 4)
	r.Events([]*event.Event{ev(source[1], 1, 0), ev(source[2], 2, 0), ev(source[0], 3, 0)})
	if got, want := p.take(), "0@1 1@1 3@3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func pred(t *testing.T, text string) *expr.Program {
	p, err := cexpr.Compile(text, &expr.Scope{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWherePassesStreamsWithoutPredicate(t *testing.T) {
	st := streams(2)
	var p tape
	w := &Where{Pred: NewFn([]*expr.Program{pred(t, "10 / id > 1"), nil}, -1), Next: &p,
		HeldBack: make([]uint64, 2)}
	w.Events([]*event.Event{
		ev(st[0], 1, 1), ev(st[1], 2, 0), ev(st[0], 3, 100), ev(st[0], 4, 0), ev(st[0], 5, 2),
	})
	if got, want := p.take(), "0@1 1@2 0@5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if w.Errs.N != 1 || w.Errs.First != expr.ErrDivide {
		t.Errorf("got %d errors (%v), want the division by zero", w.Errs.N, w.Errs.First)
	}
	if w.HeldBack[0] != 2 || w.HeldBack[1] != 0 {
		t.Errorf("got %d held, want 2 of the first stream, the error among them", w.HeldBack)
	}
}

func TestFanGivesEachItsOwnSlice(t *testing.T) {
	st := streams(1)
	var a, b tape
	// The first sink filters, which compacts its slice.
	w := &Where{Pred: NewFn([]*expr.Program{pred(t, "id == 2")}, 0), Next: &a, HeldBack: make([]uint64, 1)}
	f := &Fan{Next: []Sink{w, &b}}
	f.Events([]*event.Event{ev(st[0], 1, 1), ev(st[0], 2, 2), ev(st[0], 3, 3)})
	if x, y := a.take(), b.take(); x != "0@2" || y != "0@1 0@2 0@3" {
		t.Errorf("got %q and %q, want the filtered one and all three", x, y)
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	st := streams(2)
	var evs []*event.Event
	for i := range 256 {
		evs = append(evs, ev(st[i%2], event.Time(i), int32(i)))
	}
	r := &Router{}
	w := &Where{Pred: NewFn([]*expr.Program{pred(t, "id > 5 && id < 200"), nil}, -1), Next: nowhere{},
		HeldBack: make([]uint64, 2)}
	r.Add(w, []int{0, 1}, 2)
	r.Add(nowhere{}, []int{1}, 2)
	r.Events(evs)
	if n := testing.AllocsPerRun(20, func() { r.Events(evs) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

type nowhere struct{}

func (nowhere) Events([]*event.Event)          {}
func (nowhere) Lost(int32, uint64, event.Time) {}
