// Package dutycycle keeps a run in a budget that gets its events through rings: while it costs too much,
// they come in slots of time, and what these counted is made to stand for the time between. Package
// session uses it for plans that programs of the kernel cannot do; for theirs package budget does it
// alone.
//
// What is related would be related wrongly across a gap, so that a gap is a loss of no events for
// operators that relate events: what waits is given up.
package dutycycle

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

// Slots are the part of a run that keeps it in its budget; the zero Slots are of a run without one.
// They are used by the goroutine of the run.
type Slots struct {
	of        Of
	rings     *budget.Rings
	govern    *budget.Governor
	total     *agg.Group   // of one row: how many events there were
	since     event.Time   // when the gap began
	allEvents uint64       // events, of the run
	aside     event.Loss   // of the operators, which is still to be told
	halves    uint64       // events without a partner, so far
	cost      *result.Cost // of the last interval
}

// Of is what Slots must know of a run.
type Of struct {
	Instance *plan.Instance
	Started  budget.Start
	Live     *perf.Source
	// Now is the time on the clock of events.
	Now func() event.Time
	// Drain brings all that is in rings to the instance.
	Drain func() error
}

// Measure finds out what records cost. It comes before events are opened: it makes some itself.
func (s *Slots) Measure(share float64, p *plan.Plan) {
	if share > 0 && p.InSlots {
		s.rings = budget.MeasureRings(perf.SampleType(p.SampleMembers, len(p.Events)), hooks(p)...)
	}
}

// hooks are what the events of a plan hang on.
func hooks(p *plan.Plan) (list []hookcost.Hook) {
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
func (s *Slots) Open(share float64, of Of) (err error) {
	if s.rings == nil || of.Live == nil {
		return nil
	}
	s.of = of
	s.total = agg.New(agg.Spec{Args: []agg.Arg{{}}, Aggs: []agg.Agg{{Op: agg.Count}}})
	s.rings.Relates, s.rings.Turn, s.rings.Traffic = of.Instance.Relates(), s.turn, s.traffic
	s.govern, err = budget.GovernRings(share, s.rings)
	return err
}

// Begin is called when the run begins.
func (s *Slots) Begin() error { return s.govern.Begin(s.of.Started) }

// Due is when Step must be called; never without a budget.
func (s *Slots) Due() time.Time { return s.govern.Due() }

// Step does what is due. It comes after events were brought to the instance.
func (s *Slots) Step() error {
	if s.govern == nil {
		return nil
	}
	s.count()
	return s.govern.Step(time.Now(), s.sink())
}

// Governor keeps the run in its budget; nil without one.
func (s *Slots) Governor() *budget.Governor { return s.govern }

// Exceeded says why the run must end, since its budget cannot be kept; "" is no reason.
func (s *Slots) Exceeded() string { return s.govern.Exceeded() }

// Stop says that the run ends: events are about to end.
func (s *Slots) Stop() error {
	if s.govern == nil {
		return nil
	}
	return s.govern.Stop(s.sink())
}

// turn has events come, or none; then it returns when all that came before are counted.
func (s *Slots) turn(on bool) (at time.Time, err error) {
	// A thread that was interrupted in between does not know when it was.
	before := time.Now()
	err = perf.Switch(s.of.Live, on)
	at = before.Add(time.Since(before) / 2)
	if on {
		s.tellGap(s.of.Now())
		return at, err
	}
	if err != nil {
		return at, err
	}
	s.since = s.of.Now()
	err = s.of.Drain()
	s.count()
	return at, err
}

// tellGap tells that nothing was observed since the slot before.
func (s *Slots) tellGap(until event.Time) {
	for ring := range s.of.Live.Rings() {
		gap := event.Event{Kind: event.Lost, Ring: int32(ring), Time: s.since,
			Derived: event.Between(s.since, until)}
		s.of.Instance.Router.Events([]*event.Event{&gap})
	}
}

// traffic is what came so far.
func (s *Slots) traffic() (t budget.Traffic) {
	s.aside.Add(s.lost(s.of.Instance))
	t.Halves = s.halves
	st := s.of.Live.Stats()
	t.Lost, t.Woken = st.Lost, s.of.Live.WakeBytes()
	for _, ring := range st.Rings {
		t.Rings = append(t.Rings, budget.RingTraffic{Records: ring.Records, Bytes: ring.Bytes})
	}
	return t
}

func (s *Slots) lost(in *plan.Instance) event.Loss {
	l := in.Loss()
	s.halves += l.Unmatched + l.Broken
	return l
}

// Loss is what operators lost since the last call, even if others asked them meanwhile.
func (s *Slots) Loss(in *plan.Instance) event.Loss {
	l := s.lost(in)
	l.Add(s.aside)
	s.aside = event.Loss{}
	return l
}

// count counts the events that came.
func (s *Slots) count() {
	if n := s.of.Instance.Router.Samples - s.allEvents; n > 0 {
		s.total.AddPartial(&agg.Partial{Hits: n, Measures: []agg.Measure{{N: n}}})
		s.allEvents += n
	}
}

// sink is where what a slot counted is made to stand for more.
func (s *Slots) sink() *budget.Sink {
	all := func(fn func(g *agg.Group)) {
		fn(s.total)
		s.of.Instance.Counted(fn)
	}
	return &budget.Sink{
		EndSlot: func(seconds, gap float64) { all(func(g *agg.Group) { g.EndSlot(seconds, gap) }) },
		Unseen:  func(share float64) { all(func(g *agg.Group) { g.Unseen(share) }) },
		Weighed: func(f agg.Force) { all(func(g *agg.Group) { g.Weighed(f) }) },
		Mark:    func() { all((*agg.Group).Mark) },
		Stretch: func(of agg.Slot, exact bool) { all(func(g *agg.Group) { g.Stretch(of, exact) }) },
	}
}

// Tick ends an interval. It comes when all operators have ended theirs, before that is shown.
func (s *Slots) Tick(out render.Renderer) error {
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
	if !s.cost.Sampled() || !plan.Has[*plan.LogOp](s.of.Instance.Plan) || len(t.Rows) == 0 {
		return nil
	}
	// A reader of lines is told how many of the events these are.
	fields := []render.NoteField{field("time", share(s.cost.Time)), field("budget", share(s.cost.Budget)),
		field("cost", share(s.cost.Own+s.cost.Traced)), field("estimated", t.Rows[0][0])}
	if row := t.Rows[0]; len(row) > 1 && row[1].Kind != event.None {
		fields = append(fields, field("margin", row[1]))
	}
	return out.Note("sampled", fields...)
}

func field(name string, v event.Value) render.NoteField {
	return render.NoteField{Name: name, Value: v}
}

// share has the digits that mean something.
func share(x float64) event.Value { return event.FloatOf(math.Round(x*1e5) / 1e5) }

// Cost is what the interval cost that ended last; nil without a budget.
func (s *Slots) Cost() *result.Cost { return s.cost }
