package budget

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ppscript/bpf/load"
	"ppscript/bpf/toll"
	"ppscript/runtime/agg"
	"ppscript/runtime/diag"
	"ppscript/runtime/kernel"
	"ppscript/runtime/result"
)

// This file measures what a run costs whose work is done by programs of the kernel, and carries
// out what the Controller decides. It is used by the goroutine of the run.
//
// Between slots nothing is observed. A slot stands for the time from its begin to that of the
// next one, so the rows of a slot wait until that is known.

// A Sink takes rows.
type Sink struct {
	// Number is a stack as a number; nil where there are none.
	Number func(s *load.Stack) uint64
	Add    func(of *agg.Spec, p *agg.Partial)
	// EndSlot follows the rows of a slot of time, with the seconds for which it stands.
	EndSlot func(seconds float64)
}

// A Governor keeps a run in its budget; nil is one without a budget.
type Governor struct {
	share float64
	cpus  int
	ctl   *Controller
	run   load.Budget
	tolls toll.Tolls
	last  reading
	// timed are hits of which the time was taken lately, and spent is what was since the last
	// decision.
	timed struct{ n, time float64 }
	spent Spent
	slots slots
	told  told

	stopped time.Time // when the run ended
}

// gateTime is about what a program takes for a hit that does not count.
const gateTime = 15 * time.Nanosecond

// A reading is what was counted so far.
type reading struct {
	at   time.Time
	own  time.Duration
	hits load.Hits
}

// slots is where a Governor is in slots of time.
type slots struct {
	began, ended time.Time // the slot; ended is zero while it lasts
	since        time.Time // up to when slots before this one stand for all
	waiting      []part    // rows of the slot
	guess        []part    // of the time before the first slot, which lasted for guessed, s
	guessed      float64
	hits         []load.CPUHits // when it began
	traced       []float64      // by CPU: which part of the slot it spent on being observed
}

type part struct {
	of *agg.Spec
	p  *agg.Partial
}

// told is what is told of an interval.
type told struct{ time, open, own, traced, hits, kept float64 }

// Govern begins to keep a run in a share of the CPUs' time.
func Govern(share float64, run *load.Run) (*Governor, error) {
	all, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return nil, err
	}
	cpus := len(all.Online)
	g := &Governor{share: share, cpus: cpus, run: load.Budget{Run: run}, tolls: toll.Measure(),
		ctl: New(share, cpus, rand.Float64)}
	hits, err := g.run.Hits(g.tolls.Of)
	g.last = reading{time.Now(), ownTime(), hits}
	return g, err
}

// ownTime is the CPU time of this process.
func ownTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// Due is when Step must be called; never without a budget.
func (g *Governor) Due() time.Time {
	if g == nil {
		return time.Time{}
	}
	return g.last.at.Add(g.ctl.Next())
}

// Step measures, and carries out what is decided, if it is time.
func (g *Governor) Step(now time.Time, to *Sink) error {
	if g == nil || now.Before(g.Due()) {
		return nil
	}
	before := g.ctl.Now()
	if err := g.measure(now, before); err != nil {
		return err
	}
	next := g.ctl.Decide(g.spent)
	g.spent = Spent{}
	switch {
	case before.Open && !next.Open:
		return g.closeSlot(before, to)
	case !before.Open && next.Open:
		return g.openSlot(next, to)
	case before.Weight != next.Weight:
		return g.run.Weigh(next.Weight)
	}
	return nil
}

// measure adds what was spent since the last time to what Decide is told.
func (g *Governor) measure(now time.Time, d Decision) error {
	hits, err := g.run.Hits(g.tolls.Of)
	if err != nil {
		return err
	}
	r := reading{now, ownTime(), hits}
	time, own, n := now.Sub(g.last.at), r.own-g.last.own, hits.N-g.last.hits.N
	if timed := hits.Timed - g.last.hits.Timed; timed > 0 {
		// A hit that was interrupted took long: so they are added up for a while.
		g.timed.n = g.timed.n*forget + float64(timed)
		g.timed.time = g.timed.time*forget + float64(hits.Time-g.last.hits.Time)
	}
	way := float64(hits.Toll - g.last.hits.Toll)
	traced := way + g.each()*float64(n)
	s := &g.spent
	s.Time += time
	s.Own += own
	s.Hits += n
	s.add(traced, way+min(g.each(), float64(gateTime))*float64(n))
	if d.Open {
		open := time
		if d.Slots && g.slots.began.After(g.last.at) {
			open = now.Sub(g.slots.began)
		}
		s.Open += open
		g.told.open += open.Seconds()
	}
	g.last = r
	g.told.time += time.Seconds()
	g.told.own += own.Seconds()
	g.told.traced += traced / 1e9
	g.told.hits += float64(n)
	g.told.kept += float64(n) / float64(d.Weight)
	return nil
}

func (s *Spent) add(traced, floor float64) {
	s.Traced += time.Duration(traced)
	s.Floor += time.Duration(floor)
}

// forget is what remains of the times of hits at the next measurement.
const forget = 0.8

// each is what a hit took lately in its program, ns.
func (g *Governor) each() float64 {
	return max(g.timed.time/max(g.timed.n, 1)-float64(g.tolls.Clock), float64(gateTime)/2)
}

// begin begins a slot.
func (g *Governor) begin(now time.Time) (err error) {
	g.slots.began, g.slots.ended = now, time.Time{}
	hits, err := g.run.Hits(g.tolls.Of)
	g.slots.hits = hits.CPUs
	return err
}

// end ends the slot.
func (g *Governor) end(now time.Time) error {
	g.slots.ended = now
	hits, err := g.run.Hits(g.tolls.Of)
	if err != nil {
		return err
	}
	length := max(float64(now.Sub(g.slots.began)), 1e3)
	g.slots.traced = g.slots.traced[:0]
	for cpu, h := range hits.CPUs {
		before := &g.slots.hits[cpu]
		traced := float64(h.Toll-before.Toll) + g.each()*float64(h.N-before.N)
		g.slots.traced = append(g.slots.traced, traced/length)
	}
	return nil
}

// closeSlot has no more events count: a slot ends, or the time in which all did.
func (g *Governor) closeSlot(before Decision, to *Sink) error {
	if err := g.run.Weigh(0); err != nil {
		return err
	}
	now := time.Now()
	if before.Slots {
		if err := g.end(now); err != nil {
			return err
		}
	}
	if err := g.run.Pause(); err != nil {
		return err
	}
	if before.Slots {
		return g.gather(to)
	}
	// What came before is no slot. The first one stands for the time up to it as well.
	g.slots.since, g.slots.ended = now, now
	g.slots.began = time.Time{}
	g.slots.guess, g.slots.guessed = nil, max(g.told.open, 1e-3)
	return g.run.Rows(to.Number, func(of *agg.Spec, p *agg.Partial) {
		own := *p
		own.Hits, own.Measures = 0, slices.Clone(p.Measures)
		g.slots.guess = append(g.slots.guess, part{of, &own})
		to.Add(of, p)
	})
}

// guess tells of the time since everything counted, if it has no slot: as much as before, or
// nothing, or twice as much.
func (g *Governor) guess(now time.Time, to *Sink) {
	s := &g.slots
	if len(s.guess) == 0 {
		return
	}
	seconds := now.Sub(s.since).Seconds()
	for _, w := range s.guess {
		w.p.Scale(agg.Slot{Factor: seconds / s.guessed})
		to.Add(w.of, w.p)
	}
	to.EndSlot(seconds)
	s.since, s.guess = now, nil
}

// gather fetches the rows of the slot, to wait.
func (g *Governor) gather(to *Sink) error {
	return g.run.Rows(to.Number, func(of *agg.Spec, p *agg.Partial) {
		g.slots.waiting = append(g.slots.waiting, part{of, p})
	})
}

// openSlot has events count again.
func (g *Governor) openSlot(next Decision, to *Sink) error {
	if err := g.run.Resume(); err != nil {
		return err
	}
	g.slots.guess = nil // the slot tells of that time
	g.release(time.Now(), to)
	if err := g.begin(time.Now()); err != nil {
		return err
	}
	if !next.Slots {
		// The first rows without slots are those of all events from now on; what is between the
		// last slot and now was in it.
		g.slots = slots{}
	}
	return g.run.Weigh(next.Weight)
}

// release gives away the rows of the slot, which stands for the time until now.
func (g *Governor) release(now time.Time, to *Sink) {
	s := &g.slots
	if s.began.IsZero() || s.ended.IsZero() {
		return
	}
	for _, w := range s.waiting {
		w.p.Scale(agg.Slot{Factor: now.Sub(s.since).Seconds() / max(s.ended.Sub(s.began).Seconds(), 1e-6),
			Traced: s.traced[w.p.CPU]})
		to.Add(w.of, w.p)
	}
	to.EndSlot(now.Sub(s.since).Seconds())
	clear(s.waiting)
	s.waiting, s.since, s.began = s.waiting[:0], now, time.Time{}
}

// Rows is load.Run.Rows at the end of an interval.
func (g *Governor) Rows(run *load.Run, to *Sink) error {
	if g == nil {
		return run.Rows(to.Number, to.Add)
	}
	d := g.ctl.Now()
	if err := g.measure(time.Now(), d); err != nil {
		return err
	}
	if !d.Slots {
		return g.run.Rows(to.Number, to.Add)
	}
	if d.Open && g.slots.ended.IsZero() {
		if g.slots.since.Before(g.slots.began) && time.Since(g.slots.began) < minSlot/2 {
			return nil // too short to stand for the time before it: it is of the next interval
		}
		// The slot ends here, and another one begins.
		now := time.Now()
		if err := errors.Join(g.end(now), g.gather(to)); err != nil {
			return err
		}
		g.release(now, to)
		return g.begin(now)
	}
	now := time.Now()
	if !g.stopped.IsZero() {
		now = g.stopped
	}
	g.release(now, to)
	g.guess(now, to)
	return nil
}

// Stop says that the run ends: programs are about to be detached.
func (g *Governor) Stop(to *Sink) error {
	if g == nil {
		return nil
	}
	g.stopped = time.Now()
	if !g.ctl.Now().Slots || !g.slots.ended.IsZero() {
		return nil
	}
	if err := g.run.Weigh(0); err != nil {
		return err
	}
	return errors.Join(g.end(time.Now()), g.gather(to))
}

// Cost is what the interval cost, which ends now.
func (g *Governor) Cost() *result.Cost {
	if g == nil {
		return nil
	}
	t := &g.told
	all := max(t.time, 1e-9) * float64(g.cpus)
	c := &result.Cost{Budget: g.share, Own: t.own / all, Traced: t.traced / all, Events: 1, Time: 1}
	if t.hits > 0 {
		c.Events = t.kept / t.hits
	}
	if t.time > 0 {
		c.Time = t.open / t.time
	}
	g.told = told{}
	return c
}

// Parse reads a share of the CPUs: 1%, or 0.01.
func Parse(text string) (share float64, err error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err = strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share > 0) || share > 1 {
		return 0, diag.Errorf(diag.Usage, "option", "--budget",
			"got %q, want a share of all CPUs, up to 100%%", text).WithHint("write --budget 1%%")
	}
	return share, nil
}
