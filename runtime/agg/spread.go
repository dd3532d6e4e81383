package agg

import (
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file tells how uncertain counts and sums are of which a budget left events out. Events
// that counted by chance, each with the weight of its moment, bring a variance with them: that
// of Horvitz and Thompson, see bpf/bucket. Events of slots of time, between which nothing was
// observed, do not: chance chose the slots, and how much these differ tells how uncertain it is
// what the others would have had. A slot stands for the time up to the next one.

// A Spread is the variance of an estimate of a Measure's N and Sum.
type Spread struct{ N, Sum float64 }

// doubts are how uncertain the measures of a Group are.
type doubts struct {
	list  []doubt // by measure; shorter than these, or nil, if the others are certain
	times slotTimes
}

// slotTimes are the slots of an interval: how many, the sum of the times for which they stand,
// and that of the squares, s.
type slotTimes struct {
	n            int
	time, square float64
}

// A doubt is how uncertain a measure is.
type doubt struct {
	Spread
	slots [2]slotSums // of N and of Sum
}

// slotSums are of the slots: what the current one has, and sums over those that are over, of
// what each stands for, of its square, and of its product with the time.
type slotSums struct{ now, sum, square, timed, slowed float64 }

func (s *slotSums) add(n float64, of *Slot) {
	s.now += n
	s.slowed += math.Abs(n) * of.slowed() / (1 + of.slowed())
}

// A Slot says for what a partial of a slot of time stands.
type Slot struct {
	Factor float64 // for how much longer
	// Traced is the part of its time that the CPU spent on being observed: what ran there was
	// slowed down, and perhaps would have done more without.
	Traced float64
}

// slowed is how much more may have happened while nothing was observed, or less, beside what is
// halfway between both: work that waits for nothing is done as fast as can be, and what comes at
// its own pace comes all the same.
func (s *Slot) slowed() float64 {
	traced := min(max(s.Traced, 0), 0.9)
	return traced / (1 - traced) / 2
}

func (d *doubts) reset() { d.list, d.times = d.list[:0], slotTimes{} }

// doubt adds the spreads of a partial to those of its row.
func (g *Group) doubt(r int32, p *Partial) {
	for len(g.doubts.list) < len(g.measures) {
		g.doubts.list = append(g.doubts.list, doubt{})
	}
	for i := range p.Spreads {
		d := &g.doubts.list[int(r)*len(g.spec.Args)+i]
		if p.Slot != nil {
			d.slots[0].add(float64(p.Measures[i].N), p.Slot)
			d.slots[1].add(float64(p.Measures[i].Sum), p.Slot)
			continue
		}
		d.N += p.Spreads[i].N
		d.Sum += p.Spreads[i].Sum
	}
}

// Scale has the partial stand for the time that its slot does.
func (p *Partial) Scale(s Slot) {
	p.Slot = &s
	f := s.Factor * (1 + s.slowed())
	times := func(n uint64) uint64 { return uint64(math.Round(float64(n) * f)) }
	for i := range p.Measures {
		m := &p.Measures[i]
		m.N, m.Sum = times(m.N), int64(math.Round(float64(m.Sum)*f))
	}
	for _, counters := range p.Hists {
		for i := range counters {
			counters[i] = times(counters[i])
		}
	}
	for _, list := range p.Buckets {
		for i := range list {
			list[i].N = times(list[i].N)
		}
	}
}

// EndSlot says that all partials of a slot were added, which stands for a time, s.
func (g *Group) EndSlot(time float64) {
	g.doubts.times.n++
	g.doubts.times.time += time
	g.doubts.times.square += time * time
	for i := range g.doubts.list {
		for k := range g.doubts.list[i].slots {
			s := &g.doubts.list[i].slots[k]
			s.sum += s.now
			s.square += s.now * s.now
			s.timed += s.now * time
			s.now = 0
		}
	}
	if g.rest != nil {
		g.rest.EndSlot(time)
	}
}

// normal is how many standard errors include 95 of 100 values.
const normal = 1.96

// margin is how far the estimate of a total is from the truth, at most, in 95 of 100 cases.
func (s *slotTimes) margin(total, variance float64, of *slotSums) float64 {
	square := 0.0
	if kept := total - of.sum; variance > 0 && kept > 0 {
		// An estimate moves by steps of one event's weight, and is normal for many only.
		step := variance / kept
		square = normal * normal * (variance + step*step)
	}
	switch {
	case s.n == 1:
		square += of.sum * of.sum
	case s.n > 1:
		n, rate := float64(s.n), of.sum/s.time
		rest := of.square - 2*rate*of.timed + rate*rate*s.square
		// Loads jump: a few slots have most of it, and how much they differ is uncertain itself.
		t := student(max(1, (s.n-1)/2))
		square += t * t * max(rest, 0) * n / (n - 1)
	}
	return math.Sqrt(square) + of.slowed
}

// student is the quantile of Student's distribution for 95 of 100, with so many degrees of
// freedom: exact for one and two, within 1 % for more (Cornish and Fisher).
func student(freedom int) float64 {
	switch n := float64(freedom); freedom {
	case 1:
		return 12.706
	case 2:
		return 4.303
	default:
		z := 1.959964
		z3, z5 := z*z*z, z*z*z*z*z
		return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) +
			(3*z5*z*z+19*z5+17*z3-15*z)/(384*n*n*n)
	}
}

// cell is how far the cell of an aggregator is from the truth; nothing if it is exact, or
// neither a count nor a sum.
func (g *Group) margin(r, i int) event.Value {
	a := &g.spec.Aggs[i]
	at := r*len(g.spec.Args) + a.Arg
	if r >= len(g.rows) || at >= len(g.doubts.list) {
		return event.Value{}
	}
	d, m := &g.doubts.list[at], &g.measures[at]
	far := 0.0
	if a.Op == Sum {
		far = g.doubts.times.margin(math.Abs(float64(m.Sum)), d.Sum, &d.slots[1])
	} else {
		far = g.doubts.times.margin(float64(m.N), d.N, &d.slots[0])
	}
	if far == 0 {
		return event.Value{}
	}
	if a.Op == Sum {
		return a.Type.Number(int64(math.Ceil(far)))
	}
	return event.IntOf(int64(math.Ceil(far)))
}

// AddMargins adds to a table of the Group's rows how far counts and sums are from the truth, if
// a budget may have left events out.
func (g *Group) AddMargins(t *result.Table) {
	certain := len(g.doubts.list) == 0 && (g.rest == nil || len(g.rest.doubts.list) == 0)
	if certain || len(t.Rows) < len(g.rows) {
		return
	}
	for i := range g.spec.Aggs {
		op := g.spec.Aggs[i].Op
		if op != Count && op != Sum {
			continue
		}
		c := t.Columns[len(g.spec.Keys)+i]
		t.Columns = append(t.Columns, result.Column{Name: c.Name + "_margin", Head: "95%", Unit: c.Unit,
			Prec: c.Prec, Sep: " ± ", Relation: result.Relation{Margin: c.Name}})
		for r, row := range t.Rows {
			t.Rows[r] = append(row[:len(row):len(row)], g.margin(r, i))
		}
		if t.Other != nil {
			t.Other = append(t.Other, g.rest.margin(0, i))
		}
	}
}
