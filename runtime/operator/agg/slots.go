package agg

import "math"

// This file scales counts when a budget lets events come only in slots of time: the counts since
// the last mark are multiplied, so that they stand for the whole time up to the next slot. It is
// for events that come one by one; partials of programs are scaled before they are added
// (Partial.Scale).
//
// Other numbers, such as a minimum, are not scaled.

// slotted is a State that is scaled with the counts.
type slotted interface {
	// mark begins a slot.
	mark()
	// stretch makes each value since mark count several times.
	stretch(factor float64)
}

// Mark begins a slot: the next Stretch scales what is counted from now on.
func (g *Group) Mark() {
	g.marks = append(g.marks[:0], g.measures...)
	for _, s := range g.states {
		if s, ok := s.(slotted); ok {
			s.mark()
		}
	}
	if g.rest != nil {
		g.rest.Mark()
	}
}

// Stretch scales what was counted since Mark to the time that the slot stands for. exact says that
// the slot itself was counted in full, so that only the rest is an estimate.
func (g *Group) Stretch(s Slot, exact bool) {
	g.doubts.grow(len(g.measures))
	f := s.factor()
	for i := range g.measures {
		m, d := &g.measures[i], &g.doubts.list[i]
		var before Measure
		if i < len(g.marks) {
			before = g.marks[i]
		}
		n, sum := float64(m.N-before.N), m.Sum().less(before.Sum())
		m.N = before.N + uint64(math.Round(n*f))
		scaled := before.Sum()
		scaled.Add(sum.times(f))
		m.setSum(scaled)
		estimated := f
		if exact {
			estimated = f - 1
		}
		d.slots[0].add(n*estimated, &s)
		d.slots[1].add(sum.Float()*estimated, &s)
	}
	for _, state := range g.states {
		if state, ok := state.(slotted); ok {
			state.stretch(f)
		}
	}
	if g.rest != nil {
		g.rest.Stretch(s, exact)
	}
}

func (h *histogram) mark() { h.marked = append(h.marked[:0], h.counts...) }

func (h *histogram) stretch(factor float64) {
	for i, n := range h.counts {
		var before uint64
		if i < len(h.marked) {
			before = h.marked[i]
		}
		h.counts[i] = before + uint64(math.Round(float64(n-before)*factor))
	}
}

func (q *quantile) mark() {
	q.settle()
	q.slot = &Sketch{}
}

func (q *quantile) stretch(factor float64) {
	if q.slot == nil {
		q.sketch.scale(factor)
		return
	}
	q.slot.scale(factor)
	q.settle()
}

// settle adds what is in a slot of its own.
func (q *quantile) settle() {
	if q.slot != nil {
		q.sketch.Merge(q.slot)
		*q.slot = Sketch{}
	}
}

// scale makes each value count several times.
func (s *Sketch) scale(factor float64) {
	if s.n == 0 {
		return
	}
	s.spread()
	s.counted = true
	s.zero = uint64(math.Round(float64(s.zero) * factor))
	s.n = s.zero
	for _, b := range []*buckets{&s.pos, &s.neg} {
		for i, n := range b.counts {
			b.counts[i] = uint64(math.Round(float64(n) * factor))
			s.n += b.counts[i]
		}
	}
}
