package session

import (
	"math"
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/probe"
)

// This file keeps a run in its budget if events come through rings: while the cost is too high,
// events come only in slots of time, whose counts are scaled to the time between them. It is for
// plans that programs in the kernel cannot run; package budget alone is enough for other plans.
//
// Events on both sides of a gap must not be paired. So a gap is reported as a loss of zero events
// to operators that relate events, and these drop their waiting events.

// dutyCycle is the part of a run that keeps it in its budget; its zero value is for a run
// without one. The goroutine of the run uses it.
type dutyCycle struct {
	of        *run
	rings     *budget.Rings
	govern    *budget.Governor
	total     *agg.Group   // a group with one row that counts all events
	since     event.Time   // when the gap began
	allEvents uint64       // all events of the run
	aside     event.Loss   // loss of the operators that is not reported yet
	halves    uint64       // number of events without a partner so far
	cost      *result.Cost // of the last interval
}

// Measure measures the cost of records. It must be called before events are opened, since it
// makes some events itself.
func (s *dutyCycle) Measure(share float64, p *plan.Plan) {
	if share > 0 && p.InSlots {
		s.rings = budget.MeasureRings(perf.SampleType(p.SampleMembers, len(p.Events)), hooksOf(p)...)
	}
}

// hooksOf lists the hooks of the kernel that a plan's events are attached to.
func hooksOf(p *plan.Plan) (list []hookcost.Hook) {
	for _, e := range p.Events {
		hook := hookcost.OfSamples
		switch s := &e.Source.Spec; {
		case s.Kind == eventspec.Tracepoint:
			hook = hookcost.OfTracepoint
		case s.Dynamic() && (s.Probe.Kind == probe.Kprobe || s.Probe.Kind == probe.Kretprobe):
			hook = hookcost.OfKernel
		case s.Dynamic():
			hook = hookcost.OfProgram
		}
		list = append(list, hook)
	}
	return list
}

// Open prepares to keep a run in a share of the time of all CPUs.
func (s *dutyCycle) Open(share float64, of *run) (err error) {
	if s.rings == nil || of.in.live == nil {
		return nil
	}
	s.of = of
	s.total = agg.New(agg.Spec{Args: []agg.Arg{{}}, Aggs: []agg.Agg{{Op: agg.Count}}})
	s.rings.Relates, s.rings.Turn, s.rings.Traffic = of.instance.Relates(), s.turn, s.traffic
	s.govern, err = budget.GovernRings(share, s.rings)
	return err
}

// Begin is called when the run begins.
func (s *dutyCycle) Begin() error {
	if s.govern == nil {
		return nil
	}
	return s.govern.Begin(s.of.cfg.Options.Cost.Started)
}

// Due returns the time at which Step must be called next; zero without a
// budget.
func (s *dutyCycle) Due() time.Time { return s.govern.Due() }

// Step does the work that is due. It is called after events were passed to the
// instance.
func (s *dutyCycle) Step() error {
	if s.govern == nil {
		return nil
	}
	s.count()
	return s.govern.Step(time.Now(), s.sink())
}

// Governor keeps the run in its budget; nil without one.
func (s *dutyCycle) Governor() *budget.Governor { return s.govern }

// Exceeded returns the reason to end the run if the budget cannot be kept; else "".
func (s *dutyCycle) Exceeded() string { return s.govern.Exceeded() }

// Stop is called at the end of the run, before the events are stopped.
func (s *dutyCycle) Stop() error {
	if s.govern == nil {
		return nil
	}
	return s.govern.Stop(s.sink())
}

// turn switches events on or off. When it returns, all earlier events are counted.
func (s *dutyCycle) turn(on bool) (at time.Time, err error) {
	// If this thread was interrupted in between, the time of the switch is
	// uncertain.
	before := time.Now()
	err = perf.Switch(s.of.in.live, on)
	at = before.Add(time.Since(before) / 2)
	if on {
		s.tellGap(s.of.clock.Now())
		return at, err
	}
	if err != nil {
		return at, err
	}
	s.since = s.of.clock.Now()
	err = s.of.drain()
	s.count()
	return at, err
}

// tellGap reports a gap between slots to the operators.
func (s *dutyCycle) tellGap(until event.Time) {
	for ring := range s.of.in.live.Rings() {
		gap := event.Event{Kind: event.Lost, Ring: int32(ring), Time: s.since,
			Derived: event.Between(s.since, until)}
		s.of.instance.Router.Events([]*event.Event{&gap})
	}
}

// traffic returns the records and bytes of the rings so far, with losses and
// events without a partner.
func (s *dutyCycle) traffic() (t budget.Traffic) {
	s.aside.Add(s.lost(s.of.instance))
	t.Halves = s.halves
	st := s.of.in.live.Stats()
	t.Lost, t.Woken = st.Lost, s.of.in.live.WakeBytes()
	for _, ring := range st.Rings {
		t.Rings = append(t.Rings, budget.RingTraffic{Records: ring.Records, Bytes: ring.Bytes})
	}
	return t
}

func (s *dutyCycle) lost(in *plan.Instance) event.Loss {
	l := in.Loss()
	s.halves += l.Unmatched + l.Broken
	return l
}

// Loss returns the loss of the operators since the last call. It includes loss that
// this file read from them in between.
func (s *dutyCycle) Loss(in *plan.Instance) event.Loss {
	l := s.lost(in)
	l.Add(s.aside)
	s.aside = event.Loss{}
	return l
}

// count adds the events since its last call to the total.
func (s *dutyCycle) count() {
	if n := s.of.instance.Router.Samples - s.allEvents; n > 0 {
		s.total.AddPartial(&agg.Partial{Hits: n, Measures: []agg.Measure{{N: n}}})
		s.allEvents += n
	}
}

// sink scales the counts of slots.
func (s *dutyCycle) sink() *budget.Sink {
	all := func(fn func(g *agg.Group)) {
		fn(s.total)
		s.of.instance.Counted(fn)
	}
	return &budget.Sink{
		EndSlot: func(seconds, gap float64) { all(func(g *agg.Group) { g.EndSlot(seconds, gap) }) },
		Unseen:  func(share float64) { all(func(g *agg.Group) { g.Unseen(share) }) },
		Weighed: func(f agg.Force) { all(func(g *agg.Group) { g.Weighed(f) }) },
		Mark:    func() { all((*agg.Group).Mark) },
		Stretch: func(of agg.Slot, exact bool) { all(func(g *agg.Group) { g.Stretch(of, exact) }) },
	}
}

// Tick ends an interval. It is called when all operators have ended it, before results are
// shown.
func (s *dutyCycle) Tick(out render.Renderer) error {
	if s.govern == nil {
		return nil
	}
	s.count()
	if err := s.govern.Rows(nil, s.sink()); err != nil {
		return err
	}
	s.cost = s.govern.Cost()
	t := &result.Table{Columns: []result.Column{{Name: "n"}}, Rows: s.total.Rows()}
	s.total.AddMargins(t)
	s.total.Reset()
	if !s.cost.Sampled() || !plan.Has[*plan.LogOp](s.of.instance.Plan) || len(t.Rows) == 0 {
		return nil
	}
	// Lines cannot be scaled; a note says which share of the events they are.
	fields := []render.NoteField{
		noteField("time", noteShare(s.cost.Time)), noteField("budget", noteShare(s.cost.Budget)),
		noteField("cost", noteShare(s.cost.Own+s.cost.Traced)), noteField("estimated", t.Rows[0][0]),
	}
	if row := t.Rows[0]; len(row) > 1 && row[1].Kind != event.None {
		fields = append(fields, noteField("margin", row[1]))
	}
	return out.Note("sampled", fields...)
}

func noteField(name string, v event.Value) render.NoteField {
	return render.NoteField{Name: name, Value: v}
}

// noteShare formats a share with its significant digits.
func noteShare(x float64) event.Value { return event.FloatOf(math.Round(x*1e5) / 1e5) }

// Cost returns the cost of the last interval; nil without a budget.
func (s *dutyCycle) Cost() *result.Cost { return s.cost }
