package agg

import (
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file computes the margins of counts and sums when a budget left events out. Events that
// counted by chance, each with the weight of its moment, have the variance of Horvitz and
// Thompson's estimate, see bpf/state/weigh.go. Events of slots of time, between which nothing was
// observed, do not. The first half of a gap is taken to be like the slot before, the second half
// like the slot after; the difference of the two slots tells how uncertain that is. Neighbouring
// slots are compared, not each with the mean of all, so that a jump of the load makes only the gaps
// near it uncertain.
//
// A key is told by its own events, and may have had others that were left out: none of them, or few, may be
// among the events that counted. So a margin covers what could have been missed with each weight that was in
// force, whatever was seen with it (for none that is the rule of three). Of slots no such bound is known,
// since all events of a key may lie in one gap; where too few slots, or too few keys, have seen something of
// a row, it has no margin, and says that it is sampled. So it does where slots may say little about gaps:
// being observed took so much of the CPU that the target may have done much more without it, or many
// threads wait for the CPUs, so that ppscript is late, and slots see the threads that run just then.

// A Spread has the variances of the estimates of a Measure's N and Sum.
type Spread struct{ N, Sum float64 }

// doubts holds the uncertainty of the measures of a Group.
type doubts struct {
	list   []doubt // by measure; shorter than these, or nil, if the others are certain
	times  slotTimes
	unseen float64 // share of the events whose keys were all left out
}

// slotTimes says how events were left out in an interval: the number of slots, the seconds between
// them, and the weights.
type slotTimes struct {
	n     int
	gaps  float64
	force []Force
}

// A Force is a weight that was in force outside of slots, with the number of hits of all keys
// meanwhile, which bounds the events that a row may lack. Keys says that whole keys were left out,
// not single events.
type Force struct {
	Weight, Hits float64
	Keys         bool
}

// missed is one standard error of the number of events that a row may lack, over the weights under
// which none of its events counted.
func (s *slotTimes) missed() float64 {
	square := 0.0
	for _, f := range s.force {
		w := min(f.Weight, f.Hits)
		square += w * w
	}
	return math.Sqrt(square)
}

// byKeys reports that whole keys were left out.
func (s *slotTimes) byKeys() bool {
	return slices.ContainsFunc(s.force, func(f Force) bool { return f.Keys })
}

// leastSlots is the least number of slots with events of a row, and leastClusters of sums of keys,
// from which its variation can be estimated.
const leastSlots, leastClusters = 6, 4

// unsure is the share of a row above which Unsure slots leave it without a
// margin, see Slot.Unsure.
const unsure = 0.05

// few reports that a row was seen in too few of the slots, or with too few of the keys, to have a margin.
func (s *slotTimes) few(total float64, of *slotSums, keys *[Clusters]float64) bool {
	if s.n > 0 && (of.counted < leastSlots || of.unsure > unsure*total) {
		return true
	}
	if !s.byKeys() {
		return false
	}
	seen := 0
	for _, x := range keys {
		if x != 0 {
			seen++
		}
	}
	return seen < leastClusters
}

// A doubt holds the uncertainty of one measure.
type doubt struct {
	Spread
	slots [2]slotSums // of N and of Sum
	keys  KeySpread
}

// Clusters is the number of sums over random groups of keys, whose differences
// give the variance; see bpf/state/weigh.go.
const Clusters = 8

// A KeySpread has the sums for the variances of a Measure's N and Sum where a budget leaves out
// whole keys: their squares add up to the variance.
type KeySpread struct{ N, Sum [Clusters]float64 }

func (k *KeySpread) add(o *KeySpread, factor float64) {
	for i := range k.N {
		k.N[i] += factor * o.N[i]
		k.Sum[i] += factor * o.Sum[i]
	}
}

// keysMargin is the square of the margin (95 of 100 cases) of a total that is estimated from some
// keys. The sums count as so many measurements. If there are few keys, the margin is widened, since
// others may differ.
func keysMargin(total float64, sums *[Clusters]float64) float64 {
	variance := 0.0
	for _, x := range sums {
		variance += x * x
	}
	if variance == 0 {
		return 0
	}
	keys := total * total / variance
	t := student(max(1, int(min(Clusters, keys-1))))
	return t * t * (variance + variance/max(keys, 1))
}

// slotSums has the numbers from which the margin of one total is computed: the total of the current
// slot, the rate of the last one, and sums over past slots. Summed are the totals that slots stand
// for, the squares of jumps, and the squares of these. A jump is the difference between the totals
// of a gap at the rates of the slots before and behind it. The highest rate bounds bursts that no
// slot saw. seen counts slots with events; unsure is the total of unsure slots.
type slotSums struct {
	now, last, sum, jumps, fourth, slowed, top float64

	counted int
	unsure  float64
}

// end adds the current slot to the sums; see Group.EndSlot.
func (s *slotSums) end(time, gap float64, first bool) {
	rate := s.now / max(time, 1e-9)
	if s.now != 0 {
		s.counted++
	}
	jump := 0.0
	switch {
	case gap < 0:
		jump = math.Sqrt2 * s.now // it may be none, or twice as much
	case !first:
		jump = (rate - s.last) * gap
	}
	s.jumps += jump * jump
	s.fourth += jump * jump * jump * jump
	s.last, s.sum, s.now = rate, s.sum+s.now, 0
	s.top = max(s.top, math.Abs(rate))
}

func (s *slotSums) add(n float64, of *Slot) {
	s.now += n
	s.slowed += math.Abs(n) * (of.Slowed()/(1+of.Slowed()) + of.Halves)
	if of.Unsure {
		s.unsure += math.Abs(n)
	}
}

// A Slot says how a partial of a slot of time is scaled, and how well it is
// known.
type Slot struct {
	Factor float64 // time that the slot stands for, in its own lengths
	// Traced is the share of the slot's CPU time that was spent on observing. The target was
	// slowed down by it, and might have done more without.
	Traced float64
	// Halves counts pairs that began before the slot or ended behind it, so that only one half was
	// seen.
	Halves float64
	// Unsure says that the slot may differ much from the time between slots: Traced is large and
	// not known well, or many threads waited for CPUs.
	Unsure bool
}

// CostFactor is the factor by which a hit may cost more, or less, than was measured: the measured cost
// is a mean over other moments and another thread, with other caches and another sibling CPU.
const CostFactor = 1.5

// Slowed is the half range of the estimate for unobserved time, relative to its middle. Work
// that never waits runs faster when it is not observed; work that comes at its own pace does
// not.
func (s *Slot) Slowed() float64 {
	traced := min(max(CostFactor*s.Traced, 0), 0.9)
	return traced / (1 - traced) / 2
}

// factor is the number by which the slot's counts are multiplied.
func (s *Slot) factor() float64 { return s.Factor * (1 + s.Slowed()) }

func (d *doubts) reset() {
	d.list, d.unseen = d.list[:0], 0
	d.times = slotTimes{force: d.times.force[:0]}
}

// grow makes room for a doubt of each measure.
func (d *doubts) grow(measures int) {
	for len(d.list) < measures {
		d.list = append(d.list, doubt{})
	}
}

// doubt adds the spreads of a partial to the spreads of its row.
func (g *Group) doubt(r int32, p *Partial) {
	g.doubts.grow(len(g.measures))
	for i := range p.Keys {
		d := &g.doubts.list[int(r)*len(g.spec.Args)+i]
		factor := 1.0
		if p.Slot != nil {
			factor = p.Slot.factor()
			d.slots[0].add(float64(p.Measures[i].N), p.Slot)
			d.slots[1].add(p.Measures[i].Sum().Float(), p.Slot)
		}
		d.keys.add(&p.Keys[i], factor)
	}
	for i := range p.Spreads {
		d := &g.doubts.list[int(r)*len(g.spec.Args)+i]
		if p.Slot != nil {
			d.slots[0].add(float64(p.Measures[i].N), p.Slot)
			d.slots[1].add(p.Measures[i].Sum().Float(), p.Slot)
			continue
		}
		d.N += p.Spreads[i].N
		d.Sum += p.Spreads[i].Sum
	}
}

// Scale multiplies the partial, so that it stands for the whole time of its
// Slot.
func (p *Partial) Scale(s Slot) {
	p.Slot = &s
	f := s.factor()
	times := func(n uint64) uint64 { return uint64(math.Round(float64(n) * f)) }
	for i := range p.Measures {
		m := &p.Measures[i]
		m.N = times(m.N)
		m.setSum(m.Sum().times(f))
	}
	for _, counters := range p.Hists {
		for i := range counters {
			counters[i] = times(counters[i])
		}
	}
	p.count()
	for _, list := range p.Buckets {
		for i := range list {
			list[i].N = times(list[i].N)
		}
	}
}

// EndSlot comes when all partials of a slot were added. The slot stands for a time, and the gap
// before it was not observed; both are in seconds. A negative gap says that its length is a guess.
func (g *Group) EndSlot(time, gap float64) {
	g.doubts.times.n++
	g.doubts.times.gaps += max(gap, 0)
	for i := range g.doubts.list {
		for k := range g.doubts.list[i].slots {
			g.doubts.list[i].slots[k].end(time, gap, g.doubts.times.n == 1)
		}
	}
	if g.rest != nil {
		g.rest.EndSlot(time, gap)
	}
}

// Weighed adds a weight of more than 1 that was in force in the interval.
func (g *Group) Weighed(f Force) {
	g.doubts.times.force = append(g.doubts.times.force, f)
	if g.rest != nil {
		g.rest.Weighed(f)
	}
}

// Unseen sets the share of the events whose keys were left out and have no counting key to stand
// for them.
func (g *Group) Unseen(share float64) {
	g.doubts.unseen = share
	if g.rest != nil {
		g.rest.Unseen(share)
	}
}

// normal is the number of standard errors within which 95 of 100 values lie.
const normal = 1.96

// far is the margin of the estimate of a total.
func (s *slotTimes) far(total, variance float64, of *slotSums, keys *[Clusters]float64) Far {
	if s.few(total, of, keys) {
		return boundless
	}
	square := keysMargin(total, keys)
	chance := s.byChance(total-of.sum, variance)
	square += chance * chance
	if s.n > 1 && of.jumps > 0 {
		// If the load jumps, a few gaps have most of the variance, so that its estimate is
		// itself uncertain.
		some := of.jumps * of.jumps / of.fourth
		t := student(max(2, int(min(float64(s.n-1)/2, some))))
		far := max(t*math.Sqrt(of.jumps/2), few(math.Abs(of.sum), of.jumps/2))
		square += far * far
	}
	unseen := of.unseen(s.n, s.gaps)
	square += unseen * unseen
	return Far{square, of.slowed}
}

// byChance is the margin of the part of a total whose events counted by chance. An estimate moves
// by steps of one event's weight. For k events of weight w that count, the upper bound of Poisson's
// mean is w times 1.92 + 1.96 sqrt(k + 1) above, within 1 % from one event on; for none it is 3 w.
func (s *slotTimes) byChance(kept, variance float64) float64 {
	step := s.missed()
	if s.byKeys() {
		step = 0
	}
	if variance <= 0 {
		return 3 * step
	}
	if kept > 0 {
		step = max(step, variance/kept)
	}
	return normal*normal/2*step + normal*math.Sqrt(variance+step*step)
}

// unseen bounds, in 95 of 100 cases, the total of bursts that lie wholly in the gaps between slots.
// Bursts are taken to be as high as the highest one seen; bursts that take a larger share of the
// time would have hit a slot.
func (s *slotSums) unseen(slots int, gaps float64) float64 {
	if slots < 2 || gaps <= 0 {
		return 0
	}
	mean := math.Abs(s.sum) / (gaps + 1e-9)
	part := 1 - math.Pow(0.05, 1/float64(slots))
	return part * gaps * max(s.top-mean, 0)
}

// few is the upper margin of a total if few slots have most of it. If the estimate is too small by
// chance, its variance is too small as well. So the total is treated as a Poisson number of equal
// bursts with the same mean and variance; the margin is the upper bound of that number (Wilson and
// Hilferty).
func few(total, variance float64) float64 {
	if total <= 0 {
		return 0
	}
	burst := variance / total
	n := total/burst + 1
	root := 1 - 1/(9*n) + normal/(3*math.Sqrt(n))
	return burst * (n*root*root*root - n + 1)
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

// far is the margin of a measure's sum, or of its number of values.
func (g *Group) far(at int, sum bool) Far {
	d, m := &g.doubts.list[at], &g.measures[at]
	total := float64(m.N)
	var f Far
	if sum {
		total = math.Abs(m.Sum().Float())
		f = g.doubts.times.far(total, d.Sum, &d.slots[1], &d.keys.Sum)
	} else {
		f = g.doubts.times.far(total, d.N, &d.slots[0], &d.keys.N)
	}
	if unseen := min(g.doubts.unseen, 0.9); f != (Far{}) && f != boundless && unseen > 0 {
		f.Bias += total * unseen / (1 - unseen)
	}
	return f
}

// farOf is the margin of an aggregator's count or sum.
func (g *Group) farOf(a *Agg, at int) Far {
	return a.far(Doubt{N: g.far(at, false), Sum: g.far(at, true)})
}

// margin is the margin of an aggregator's cell; 0 if it is exact, or neither a count nor a
// sum.
func (g *Group) margin(r, i int) event.Value {
	a := &g.spec.Aggs[i]
	at := r*len(g.spec.Args) + a.Arg
	if r >= len(g.rows) || at >= len(g.doubts.list) {
		return event.Value{}
	}
	return g.farOf(a, at).cell(a)
}

// sampled reports that a row has an estimate whose margin is not known.
func (g *Group) sampled(r int) bool {
	if g.unseen() {
		return true
	}
	for i := range g.spec.Aggs {
		a := &g.spec.Aggs[i]
		at := r*len(g.spec.Args) + a.Arg
		if a.estimated() && r < len(g.rows) && at < len(g.doubts.list) &&
			g.farOf(a, at) == boundless {
			return true
		}
	}
	return false
}

// unseen reports that no event counted although some came: the 0 in the row of a table without keys
// is then an estimate.
func (g *Group) unseen() bool {
	times := &g.doubts.times
	return len(g.spec.Keys) == 0 && len(g.rows) == 0 && (times.n > 0 || len(times.force) > 0)
}

// estimated reports that an aggregator is scaled and has a margin.
func (a *Agg) estimated() bool { return a.Op == Count || a.Op == Sum }

// AddMargins adds columns to a table of the Group's rows, with the margins of counts and sums,
// if a budget may have left events out.
func (g *Group) AddMargins(t *result.Table) {
	if times := &g.doubts.times; times.n > 0 || len(times.force) > 0 {
		g.doubts.grow(len(g.measures)) // the row of other keys may also lack events
	}
	certain := len(g.doubts.list) == 0 && (g.rest == nil || len(g.rest.doubts.list) == 0)
	if certain && !g.unseen() || len(t.Rows) < len(g.rows) {
		return
	}
	addMargins(t, g.spec.Aggs, len(g.spec.Keys), g, g.rest)
}

// marginal gives the margins of rows.
type marginal interface {
	margin(r, i int) event.Value
	sampled(r int) bool
}

// addMargins adds a column with margins behind each count and sum, and a column that marks rows
// whose margin is not known. other has the row of other keys, if any.
func addMargins(t *result.Table, aggs []Agg, keys int, rows, other marginal) {
	add := func(c result.Column, cell func(of marginal, r int) event.Value) {
		t.Columns = append(t.Columns, c)
		for r, cells := range t.Rows {
			t.Rows[r] = append(cells[:len(cells):len(cells)], cell(rows, r))
		}
		if t.Other != nil {
			t.Other = append(t.Other, cell(other, 0))
		}
	}
	some := false
	for i := range aggs {
		if !aggs[i].estimated() {
			continue
		}
		some = true
		c := t.Columns[keys+i]
		add(result.Column{Name: c.Name + "_margin", Head: "95%", Unit: c.Unit, Prec: c.Prec, Sep: " ± ",
			Relation: result.Relation{Margin: c.Name}},
			func(of marginal, r int) event.Value { return of.margin(r, i) })
	}
	if !some {
		return
	}
	c := result.Column{Name: "sampled", Left: true, Relation: result.Relation{Sampled: true}}
	c.Text = func(event.Value) string { return "sampled" }
	add(c, func(of marginal, r int) event.Value {
		if of.sampled(r) {
			return event.BoolOf(true)
		}
		return event.Value{}
	})
}
