package overlap

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
)

// This file finds the innermost span at each time of a span that is split: the one that
// began last. Open spans are on a stack in the order of their begins; a span that ends
// below others is removed when the spans above it have ended. This is right also for spans that
// overlap without nesting.

// layers is the working memory of cut.
type layers struct {
	sides  []*side // of spans over others
	over   []layer
	blind  event.Time // before this time, the spans over others are not known
	stack  []int32
	pieces []piece
	facts  []event.Value // of open spans
}

// A layer is a span over the span that is being split.
type layer struct {
	begin, end event.Time
	item       int32 // index in the row's items; none for an open span
	open       int32 // none for a span that is not certain
}

// A piece is a part of the span that is being split; top is an index in layers.over,
// or one of the constants below.
type piece struct {
	from, to event.Time
	top      int32
}

const (
	topRest    = -1
	topUnknown = -2
)

// cut splits a span whose row is r, and makes its parts.
func (s *Splitter) cut(e *event.Event, r int32) {
	l := &s.layers
	begin, end := e.Derived.Start.Time, e.Time
	l.over, l.pieces, l.blind = l.over[:0], l.pieces[:0], end
	if r >= 0 {
		s.collect(r, begin, end)
	}
	slices.SortFunc(l.over, func(a, b layer) int {
		if c := cmp.Compare(a.begin, b.begin); c != 0 {
			return c
		}
		return cmp.Compare(b.end, a.end) // the shorter one is the inner one
	})
	l.lay(begin, end)
	for _, p := range l.pieces {
		s.part(e, r, p)
	}
}

// collect finds the spans over [begin, end). A possible but uncertain span begins at the
// earliest time at which it may have begun, so that later spans lie above it.
func (s *Splitter) collect(at int32, begin, end event.Time) {
	l, r := &s.layers, &s.rows[at]
	if r.complete {
		l.blind = r.keptUntil
	}
	for i := range s.spec.Over {
		if from, doubted := s.doubted(s.of(at, int32(i))); doubted && from < end {
			l.over = append(l.over, layer{begin: from, end: end, item: none, open: none})
		}
	}
	for i := range r.items {
		switch x := &r.items[i]; {
		case x.end <= begin || x.begin >= end:
		case x.stream == unknown:
			l.over = append(l.over, layer{begin: x.begin, end: x.end, item: none, open: none})
		default:
			l.over = append(l.over, layer{begin: x.begin, end: x.end, item: int32(i), open: none})
		}
	}
	for n := r.over; n != none; n = s.open[n].next {
		o := &s.open[n]
		if o.begin >= end {
			continue
		}
		switch counts, known := l.sides[o.source].counts(o.id); {
		case !known:
			l.over = append(l.over, layer{begin: o.begin, end: end, item: none, open: none})
		case counts:
			l.over = append(l.over, layer{begin: o.begin, end: end, item: none, open: n})
		}
	}
}

// counts reports that an open span is one of the spans that split others; known is false if
// that depends on its end.
func (x *side) counts(id int32) (counts, known bool) {
	if x.Where == nil {
		return true, true
	}
	e := x.half(x.Begun(id, &x.begun), nil)
	p := x.Where[e.Stream.Index]
	if p == nil {
		return true, true
	}
	x.frame.Reset(e)
	counts = p.Bool(&x.frame)
	return counts, x.frame.Err == nil
}

// lay makes the pieces of [begin, end).
func (l *layers) lay(begin, end event.Time) {
	l.stack = l.stack[:0]
	at := begin
	if blind := min(l.blind, end); blind > begin {
		l.add(begin, blind, topUnknown)
		at = blind
	}
	for i := range l.over {
		at = l.until(at, min(l.over[i].begin, end))
		l.stack = append(l.stack, int32(i))
	}
	l.until(at, end)
}

// until makes the pieces of [at, t), and returns where the next begins.
func (l *layers) until(at, t event.Time) event.Time {
	for at < t {
		for len(l.stack) > 0 && l.over[l.top()].end <= at {
			l.stack = l.stack[:len(l.stack)-1]
		}
		if len(l.stack) == 0 {
			l.add(at, t, topRest)
			return t
		}
		top := l.top()
		to := min(t, l.over[top].end)
		if x := &l.over[top]; x.item == none && x.open == none {
			top = topUnknown
		}
		l.add(at, to, top)
		at = to
	}
	return at
}

func (l *layers) top() int32 { return l.stack[len(l.stack)-1] }

// add makes a piece, or makes the last one longer.
func (l *layers) add(from, to event.Time, top int32) {
	if from >= to {
		return
	}
	if n := len(l.pieces) - 1; n >= 0 && l.pieces[n].top == top && l.pieces[n].to == from {
		l.pieces[n].to = to
		return
	}
	l.pieces = append(l.pieces, piece{from, to, top})
}

// part makes the event of a piece.
func (s *Splitter) part(e *event.Event, r int32, p piece) {
	name, facts := restName, s.spec.None
	switch p.top {
	case topRest:
	case topUnknown:
		name = unknownName
	default:
		of := &s.layers.over[p.top]
		if of.item != none {
			row := &s.rows[r]
			x, width := &row.items[of.item], len(s.spec.None)
			name = s.spec.Over[x.source].Names[x.stream]
			facts = row.facts[int(of.item)*width:][:width]
		} else {
			o := &s.open[of.open]
			side := s.layers.sides[o.source]
			half := side.half(side.Begun(o.id, &side.begun), nil)
			name = side.Names[half.Stream.Index]
			s.layers.facts = side.factsOf(half, s.layers.facts[:0])
			facts = s.layers.facts
		}
	}
	s.stats.Parts++
	s.out.add(s, e, p, name, facts)
}

var (
	restName    = event.StrOf(Rest)
	unknownName = event.StrOf(Unknown)
)
