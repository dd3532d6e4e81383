package budget

import (
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
)

// This file measures the cost of a run, and carries out the Controller's decisions. It is used by
// the goroutine of the run.
//
// Between slots nothing is observed. A slot stands for a part of the gaps before and behind it, so
// its rows wait until it is known how long these are: see ledger.

// A Sink receives the rows that programs counted, and scales them.
type Sink struct {
	// Number returns the number of a stack; nil if there are no stacks.
	Number func(s *load.Stack) uint64
	Add    func(of *agg.Spec, p *agg.Partial)
	// EndSlot follows the rows of a slot of time. It gets the seconds that the slot stands for and
	// the seconds of the gap before it, see agg.Group.EndSlot.
	EndSlot func(seconds, gap float64)
	// Unseen gets, at the end of an interval, the share of events whose keys were left out and have
	// no counted key to stand for them.
	Unseen func(share float64)
	// Weighed gets, at the end of an interval, the weights that were in force.
	Weighed func(f agg.Force)
	// Mark and Stretch are called for the groups to which events come one by one; nil where rows do.
	Mark    func()
	Stretch func(s agg.Slot, exact bool)
}

// A Governor keeps a run in its budget. A nil Governor is valid: it has no
// budget.
type Governor struct {
	share float64
	cpus  int
	ctl   *Controller
	run   tap
	last  reading
	// timed has recent hits whose duration was measured; spent has the cost since the last
	// decision.
	timed  struct{ n, time float64 }
	spent  Expense
	slots  slots
	costs  intervalCosts
	lately float64 // hits a second, as measured last
	begin  begin
	recent costWindow
	over   over
	crowd  crowding

	stopped time.Time // when the run ended
}

// gateTime is about the time of a program for a hit that does not count.
const (
	gateTime = 15 * time.Nanosecond
	keyTime  = 40 * time.Nanosecond // whose key does not count
)

// slowing is the largest share of a CPU's time in a slot that writing records may take, if it is
// not known how much of that time the target had; above it the slot is Unsure.
const slowing = 0.02

// A reading has the counts so far.
type reading struct {
	at   time.Time
	own  time.Duration
	hits load.Hits
}

// slots is a Governor's state for slots of time.
type slots struct {
	ledger
	waiting []part // rows of the slot
	// before has the rows of the time before the first slot, and for each the factor that gives
	// its rate a second at the end of that time.
	before []part
	each   float64
	hits   load.Hits // when it began
	marked uint64    // hits when groups were marked last
	steady bool      // the time before the first slot is still to be stretched
	halves float64   // events of joins without their partner
	traced []float64 // by CPU: share of its time in the slot that was spent on being observed
	hitsOf []uint64  // by CPU: number of hits
	// crowded says that many threads waited for the CPUs when the slot ended.
	crowded bool
}

// A begin has the cost of a run's begin, and the estimated cost of its end.
type begin struct {
	took, ends time.Duration
	afforded   bool          // within the budget
	stopped    time.Duration // CPU time of this process when the end began
}

type part struct {
	of *agg.Spec
	p  *agg.Partial
}

// intervalCosts are the measurements of one interval.
type intervalCosts struct {
	time, open, own, traced, hits, kept, offered, stood float64

	force [levels]float64 // by logarithm of the weight: hits outside of slots
}

// levels is the number of weights.
const levels = load.WeightLevels

// Govern starts a Governor for a run of kernel programs; it keeps the run in a share of the CPUs' time.
func Govern(share float64, run *load.Run) (*Governor, error) {
	return govern(share, newPrograms(run))
}

// A Start is the begin of a run, as the CPU time that this process had used by then; the zero Start
// is the begin of the process. Work before the Governor begins, such as reading scripts and
// attaching programs, counts for the budget.
type Start time.Duration

// Started returns the Start for a run that begins now.
func Started() Start { return Start(kernel.CPUTime()) }

// ending is the estimated cost of a run's end (detaching, showing results), as a share of the cost
// of its begin.
const ending = 0.5

func govern(share float64, run tap) (*Governor, error) {
	all, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return nil, err
	}
	cpus := len(all.Online)
	g := &Governor{share: share, cpus: cpus, run: run, ctl: New(share, cpus, rand.Float64)}
	switch {
	case run.inPerson():
		g.ctl.Whole(run.ByKey())
	case run.ByKey():
		g.ctl.Relate()
	}
	return g, nil
}

// Begin is called when events begin to count. The CPU time used since the Start was for the run's
// begin.
func (g *Governor) Begin(since Start) error {
	if g == nil {
		return nil
	}
	g.run.begin()
	hits, err := g.run.Hits()
	g.last = reading{time.Now(), kernel.CPUTime(), hits}
	took := g.last.own - time.Duration(since)
	g.begin = begin{took: took, ends: time.Duration(ending * float64(took))}
	g.begin.afforded = g.ctl.Begin(took + g.begin.ends)
	g.costs.own = took.Seconds()
	g.recent.add(g.last.at, float64(took))
	g.arm()
	return err
}

// Due returns the time at which Step must be called; zero without a budget. It is relative to the
// last decision, not to the last measurement, since ends of intervals measure too.
func (g *Governor) Due() time.Time {
	if g == nil {
		return time.Time{}
	}
	return g.last.at.Add(g.ctl.Next() - g.spent.Time)
}

// Step measures, decides, and carries the decision out, if it is due.
func (g *Governor) Step(now time.Time, to *Sink) error {
	if g == nil {
		return nil
	}
	early := now.Before(g.Due())
	if early && !g.run.rang() {
		return nil
	}
	defer g.arm()
	before := g.ctl.Now()
	if err := g.measure(now, before); err != nil {
		return err
	}
	if early && g.spent.Traced < g.ctl.Alarm()/2 {
		return nil // hits are counted in groups: a full group is no jump
	}
	next := g.ctl.Decide(g.spent)
	g.spent = Expense{}
	switch {
	case before.Open && !next.Open:
		return g.closeSlot(before, to)
	case !before.Open && next.Open:
		return g.openSlot(next, to)
	case before.Weight != next.Weight:
		_, err := g.run.Weigh(next.Weight)
		return err
	}
	return nil
}

// arm makes the next decision come early if more is spent than planned.
func (g *Governor) arm() {
	each := time.Duration(0)
	if g.timed.n > 0 {
		each = time.Duration(g.each())
	}
	g.ctl.Rely(g.run.alarm(g.ctl.Alarm(), each))
}

// measure adds the cost since the last call to the Expense for Decide.
func (g *Governor) measure(now time.Time, d Decision) error {
	hits, err := g.run.Hits()
	if err != nil {
		return err
	}
	r := reading{now, kernel.CPUTime(), hits}
	time, own, n := now.Sub(g.last.at), r.own-g.last.own, hits.N-g.last.hits.N
	if timed := hits.Timed - g.last.hits.Timed; timed > 0 {
		// A single hit may be long because of an interrupt, so hits are averaged
		// over a while.
		g.timed.n = g.timed.n*forget + float64(timed)
		g.timed.time = g.timed.time*forget + float64(hits.Time-g.last.hits.Time)
	}
	way := float64(hits.Toll - g.last.hits.Toll)
	traced := way + g.each()*float64(n)
	s := &g.spent
	s.Idle = g.run.idle()
	g.lately = float64(n) / max(time.Seconds(), 1e-6)
	s.Time += time
	s.Hits += n
	if g.run.inPerson() {
		// ppscript's own time grows with the events, and is saved with them.
		s.add(traced+float64(own), traced+float64(own))
	} else {
		s.Own += own
		gate := gateTime
		if g.run.ByKey() {
			gate = keyTime
		}
		s.add(traced, way+min(g.each(), float64(gate))*float64(n))
	}
	offered, stood := hits.Offered-g.last.hits.Offered, hits.Represented-g.last.hits.Represented
	s.Offered += offered
	s.Stood += stood
	g.costs.offered += float64(offered)
	g.costs.stood += float64(stood)
	if d.Open {
		open := time
		if d.Slots && g.slots.began.After(g.last.at) {
			open = now.Sub(g.slots.began)
		}
		s.Open += open
		g.costs.open += open.Seconds()
	}
	g.last = r
	g.costs.time += time.Seconds()
	g.costs.own += own.Seconds()
	g.costs.traced += traced / 1e9
	g.recent.add(now, float64(own)+traced)
	g.costs.hits += float64(n)
	g.costs.kept += float64(n) / float64(d.Weight)
	if d.Open && !d.Slots {
		g.costs.force[bits.Len64(d.Weight)-1] += float64(n)
	}
	return nil
}

func (s *Expense) add(traced, floor float64) {
	s.Traced += time.Duration(traced)
	s.Floor += time.Duration(floor)
}

// forget is the factor by which the times of old hits are weighted down at each
// measurement.
const forget = 0.8

// each returns the recent mean time of a hit in its program, ns.
func (g *Governor) each() float64 {
	return max(g.timed.time/max(g.timed.n, 1)-float64(g.run.clock()), float64(gateTime)/2)
}

// beginSlot begins a slot.
func (g *Governor) beginSlot(now time.Time, to *Sink) (err error) {
	g.slots.begin(now)
	g.slots.hits, err = g.run.Hits()
	g.slots.marked = g.slots.hits.N
	if to.Mark != nil {
		to.Mark()
	}
	return err
}

// end ends the slot.
func (g *Governor) end(now time.Time) error {
	g.slots.end(now)
	hits, err := g.run.Hits()
	if err != nil {
		return err
	}
	g.slots.crowded = g.crowd.many(g.cpus)
	length, ran := 1e9*g.slots.length(), hits.Ran(&g.slots.hits)
	g.slots.halves = float64(hits.Halves - g.slots.hits.Halves)
	g.slots.traced, g.slots.hitsOf = g.slots.traced[:0], g.slots.hitsOf[:0]
	for cpu, h := range hits.CPUs {
		var before load.CPUHits // zero for a CPU that came online
		if cpu < len(g.slots.hits.CPUs) {
			before = g.slots.hits.CPUs[cpu]
		}
		g.slots.hitsOf = append(g.slots.hitsOf, h.N-before.N)
		traced := float64(h.Toll-before.Toll) + g.each()*float64(h.N-before.N)
		// If a thread shares the CPU, only its own time is slowed down.
		of := length
		if ran[cpu] > 0 {
			of = min(ran[cpu], length)
		}
		g.slots.traced = append(g.slots.traced, traced/of)
	}
	return nil
}

// closeSlot stops counting: a slot ends, or the time in which all events
// counted.
func (g *Governor) closeSlot(before Decision, to *Sink) error {
	now, err := g.run.Weigh(0)
	if err != nil {
		return err
	}
	if before.Slots {
		if err := g.end(now); err != nil {
			return err
		}
	}
	if err := g.run.Pause(); err != nil {
		return err
	}
	if before.Slots {
		g.over.add(g.run.idle() > g.share*float64(g.cpus), now)
		return g.gather(to)
	}
	// The time before the first slot is no slot; its rate is used for the first half of
	// the first gap.
	marked := g.slots.marked
	g.slots.close(now)
	g.slots.before, g.slots.each = nil, g.lately/max(g.costs.hits, 1)
	if g.run.inPerson() {
		g.slots.each = g.lately / max(float64(g.last.hits.N-marked), 1)
		g.slots.steady = true
	}
	return g.run.Rows(to.Number, func(of *agg.Spec, p *agg.Partial) {
		own := *p
		own.Hits, own.Measures = 0, slices.Clone(p.Measures)
		g.slots.before = append(g.slots.before, part{of, &own})
		to.Add(of, p)
	})
}

// enter scales the counts before the first slot to the first half of the gap behind them. If no
// slot follows in this interval, that is a guess.
func (g *Governor) enter(now time.Time, followed bool, to *Sink) {
	s := &g.slots
	if len(s.before) == 0 && !s.steady {
		return
	}
	half := now.Sub(s.from).Seconds() / 2
	if s.steady {
		to.Stretch(agg.Slot{Factor: 1 + half*s.each}, true)
		s.steady = false
	}
	for _, w := range s.before {
		w.p.Scale(agg.Slot{Factor: half * s.each})
		to.Add(w.of, w.p)
	}
	gap := 0.0
	if !followed {
		gap = -1
	}
	to.EndSlot(half, gap)
	s.before = nil
}

// gather fetches the rows of the slot, to be released later.
func (g *Governor) gather(to *Sink) error {
	return g.run.Rows(to.Number, func(of *agg.Spec, p *agg.Partial) {
		g.slots.waiting = append(g.slots.waiting, part{of, p})
	})
}

// openSlot makes events count again.
func (g *Governor) openSlot(next Decision, to *Sink) error {
	if err := g.run.Resume(); err != nil {
		return err
	}
	now := time.Now()
	if err := g.measure(now, Decision{Weight: next.Weight}); err != nil {
		return err
	}
	g.ctl.Pay(g.spent)
	g.spent = Expense{}
	g.enter(now, next.Slots, to)
	seconds := g.slots.stands(now)
	if !next.Slots {
		seconds = now.Sub(g.slots.from).Seconds()
	}
	g.release(seconds, to)
	if err := g.beginSlot(now, to); err != nil {
		return err
	}
	if !next.Slots {
		// From now on all events count; the time since the last slot is accounted for.
		g.slots = slots{marked: g.slots.marked}
	}
	at, err := g.run.Weigh(next.Weight)
	if next.Slots {
		g.slots.began = at
	}
	return err
}

// release hands out the rows of the slot, which stands for a number of seconds.
func (g *Governor) release(seconds float64, to *Sink) {
	s := &g.slots
	if s.began.IsZero() || s.ended.IsZero() {
		return
	}
	hits := 0.0
	for _, w := range s.waiting {
		hits += float64(w.p.Hits)
	}
	for _, w := range s.waiting {
		w.p.Scale(agg.Slot{Factor: seconds / s.length(), Traced: s.traced[w.p.CPU],
			Halves: s.halves / max(hits, 1), Unsure: s.crowded})
		to.Add(w.of, w.p)
	}
	if to.Stretch != nil {
		part, n := 0.0, 0.0
		for cpu := range s.traced {
			hit := float64(s.hitsOf[cpu])
			part, n = part+hit*s.traced[cpu], n+hit
		}
		of := agg.Slot{Factor: seconds / s.length(), Traced: part / max(n, 1), Halves: s.halves / max(n, 1)}
		// It is not known how long the target ran in the slot; its whole run time may lie in the
		// traced part.
		of.Unsure = s.crowded || of.Traced > slowing
		to.Stretch(of, false)
	}
	to.EndSlot(seconds, s.gap)
	clear(s.waiting)
	s.waiting = s.waiting[:0]
}

// Rows hands out the rows of the interval that ends.
func (g *Governor) Rows(run *load.Run, to *Sink) error {
	if g == nil {
		return run.Rows(to.Number, to.Add)
	}
	d := g.ctl.Now()
	if err := g.measure(time.Now(), d); err != nil {
		return err
	}
	if t := &g.costs; t.offered > 0 {
		to.Unseen(max(0, t.offered-t.stood) / max(t.hits, t.offered))
	}
	for i, hits := range g.costs.force {
		if i > 0 && hits > 0 {
			to.Weighed(agg.Force{Weight: float64(uint64(1) << i), Hits: hits, Keys: g.run.ByKey()})
		}
	}
	if !d.Slots {
		return g.run.Rows(to.Number, to.Add)
	}
	now := time.Now()
	if !g.stopped.IsZero() {
		now = g.stopped
	}
	if d.Open && g.slots.ended.IsZero() {
		if g.slots.gap > 0 && now.Sub(g.slots.began) < minSlot/2 {
			return nil // too short a slot: leave it to the next interval
		}
		// The slot is cut in two by the end of the interval.
		if err := errors.Join(g.end(now), g.gather(to)); err != nil {
			return err
		}
		g.release(now.Sub(g.slots.from).Seconds(), to)
		return g.beginSlot(now, to)
	}
	g.enter(now, false, to)
	g.release(now.Sub(g.slots.from).Seconds(), to)
	g.slots.interval(now)
	return nil
}

// Stop says that the run ends: programs are about to be detached.
func (g *Governor) Stop(to *Sink) error {
	if g == nil {
		return nil
	}
	g.stopped, g.begin.stopped = time.Now(), kernel.CPUTime()
	if !g.ctl.Now().Slots || !g.slots.ended.IsZero() {
		return nil
	}
	now, err := g.run.Weigh(0)
	if err != nil {
		return err
	}
	return errors.Join(g.end(now), g.gather(to))
}

// Cost returns the cost of the interval that ends now.
func (g *Governor) Cost() *result.Cost {
	if g == nil {
		return nil
	}
	t := &g.costs
	all := max(t.time, 1e-9) * float64(g.cpus)
	c := &result.Cost{Budget: g.share, Own: t.own / all, Traced: t.traced / all, Events: 1, Time: 1,
		ByKey: g.run.ByKey() && !g.run.inPerson()}
	if t.hits > 0 {
		c.Events = t.kept / t.hits
	}
	if t.time > 0 {
		c.Time = t.open / t.time
	}
	g.costs = intervalCosts{}
	return c
}
