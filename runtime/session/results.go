package session

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// results passes the results of the run to their deliveries and to the
// renderer.
type results struct {
	cfg        *Config
	msgs       *messages
	account    *account
	out        render.Renderer
	watch      outputWatch                // records whether anything was shown
	wall       func(event.Time) time.Time // nil if the events have no wall-clock time
	deliveries deliveries
	files      tableFiles
	stacks     *runStacks
	foreign    []*event.Stream // streams of other machines
	failed     error           // error of a script's function or of the output
}

// table shows a table, also on timelines.
func (o *results) table(t *result.Table) error {
	o.deliveries.table(t)
	return o.out.Show(t)
}

// missing returns the loss of a result in an interval: the loss of the sources,
// plus own, the loss of its operator.
func (o *results) missing(t *plan.Interval, own event.Loss) event.Loss {
	o.account.total.Add(own)
	own.Add(t.Loss)
	return own
}

// tick ends an interval: tables are made, shown and emptied.
func (r *run) tick(final bool) error {
	r.account.tickNo++
	now := time.Now()
	if r.env.rec.file == nil {
		r.clock.Refresh()
	} else if end := r.present(); end != 0 {
		now = r.clock.Of(end)
	}
	if err := flushStates(r, final); err != nil {
		return err
	}
	r.instance.End(final, r.present())
	if s, ok := r.in.feeder.(*sharedFeeder); ok {
		s.absorb()
	}
	loss := r.account.interval(r)
	if r.in.kernel != nil {
		own, err := r.in.kernel.collect(r)
		if err != nil {
			return err
		}
		r.account.total.Add(own)
		loss.Add(own)
	}
	if err := r.in.slots.Tick(r.results.out); err != nil {
		return err
	}
	own, err := r.collectSent()
	if err != nil {
		return err
	}
	r.account.total.Add(own)
	loss.Add(own)
	if h := r.cfg.Hooks.Interval; h != nil && !final && r.results.failed == nil {
		r.results.failed = h()
	}
	if h := r.cfg.Hooks.Lost; h != nil && loss.Missing() > 0 && r.results.failed == nil {
		r.results.failed = h(loss.Missing())
	}
	if final && r.stacks != nil {
		r.stacks.Ending()
	}
	t := &plan.Interval{Loss: loss, Final: final, Now: now, About: r.meta(final, now)}
	if !final {
		t.Until = r.account.until
	}
	r.account.costs.Add(t.About.Cost, float64(t.About.End-t.About.Begin)/1e9)
	if err := r.results.deliveries.tick(t); err != nil {
		return err
	}
	if h := r.cfg.Hooks.Parts.Ended; h != nil {
		if err := h(t.Meta("", "", loss)); err != nil {
			return err
		}
	}
	r.stacks.tick(r, final)
	if !r.results.deliveries.showLoss() && !loss.Zero() {
		if err := r.results.out.Note("loss", render.LossFields(loss)...); err != nil {
			return err
		}
	}
	if r.eval != nil {
		if err := r.eval.report(now); err != nil {
			return err
		}
	}
	r.account.lastEvent, r.account.reported.samples = r.instance.Router.Last, r.instance.Samples()
	if r.env.rec.file != nil {
		r.account.lastEvent = max(r.account.lastEvent, r.present())
	}
	r.account.lastEvent = max(r.account.lastEvent, r.undated())
	return nil
}

// meta returns the data that all results of this interval share.
func (r *run) meta(final bool, now time.Time) result.Meta {
	router, samples := r.instance.Router, r.instance.Samples()
	m := result.Meta{
		Final:        final,
		Wall:         now,
		TotalSamples: samples,
		Samples:      samples - r.account.reported.samples,
		Begin:        r.account.lastEvent,
		End:          router.Last,
		Keep:         r.cfg.Options.Show.Whole,
	}
	m.Cost = r.in.slots.Cost()
	if r.in.kernel != nil {
		m.Cost = r.in.kernel.cost
	}
	if m.Cost == nil && r.account.own != nil {
		m.Cost = &result.Cost{Own: r.account.own.Share(), Traced: result.NotMeasured, Events: 1, Time: 1}
	}
	if m.Cost != nil {
		m.Cost.Visible = r.cfg.Options.Cost.Show
	}
	if r.cfg.Options.Interval > 0 {
		m.Seq = r.account.tickNo
	}
	if r.env.rec.file != nil {
		if end := r.present(); end != 0 {
			m.End = end
		}
		m.Wall = r.clock.Of(m.End)
	}
	m.End = max(m.End, r.undated())
	if m.Begin == 0 {
		m.Begin = r.first()
	}
	return m
}

// first returns the time of the first event, or the begin of the run if events
// have no times.
func (r *run) first() event.Time {
	if at := r.undated(); r.instance.Router.First == 0 && at != 0 {
		return at - event.Time(time.Since(r.started))
	}
	return r.instance.Router.First
}

// whole returns the metadata for a result about the whole run until now.
func (r *run) whole(now time.Time) result.Meta {
	m := r.meta(true, now)
	m.Loss = r.account.total
	if whole := r.account.costs.Whole(); whole != nil {
		m.Cost = whole
	}
	m.Begin, m.Samples = r.first(), m.TotalSamples
	return m
}

// undated returns the present time if the events of a live run have no times, otherwise 0.
// Counters and programs that only count have no events, and samples have no time unless
// the plan reads it.
func (r *run) undated() event.Time {
	router := r.instance.Router
	timeless := router.Samples > 0 && router.Last == 0
	if r.env.rec.file == nil &&
		(r.in.kernel != nil || r.plan.Kernel.Sends() || r.in.counters.any() || timeless) {
		return r.present()
	}
	return 0
}
