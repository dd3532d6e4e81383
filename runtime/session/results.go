package session

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
)

// tick ends an interval: tables are made, shown and emptied.
func (r *run) tick(final bool) error {
	r.tickNo++
	now := time.Now()
	if r.env.rec.file == nil {
		r.clock.refresh()
	} else if end := r.present(); end != 0 {
		now = r.clock.of(end)
	}
	r.instance.End(final, r.present())
	if s, ok := r.feeder.(*shared); ok {
		s.absorb()
	}
	loss := r.interval()
	if r.kernel != nil {
		own, err := r.kernel.collect(r)
		if err != nil {
			return err
		}
		r.total.Add(own)
		loss.Add(own)
	}
	own, err := r.sent()
	if err != nil {
		return err
	}
	r.total.Add(own)
	loss.Add(own)
	if h := r.cfg.Hooks.Interval; h != nil && !final && r.failed == nil {
		r.failed = h()
	}
	if h := r.cfg.Hooks.Lost; h != nil && loss.Missing() > 0 && r.failed == nil {
		r.failed = h(loss.Missing())
	}
	t := &interval{loss, final, now}
	if err := r.deliver(t); err != nil {
		return err
	}
	r.tickStacks(final)
	if !r.resultsShowLoss() && !loss.Zero() {
		if err := r.out.Note("loss", lossFields(loss)...); err != nil {
			return err
		}
	}
	if r.eval != nil {
		if err := r.eval.report(now); err != nil {
			return err
		}
	}
	r.lastTick, r.lastEvent, r.told.samples = now, r.instance.Router.Last, r.instance.Router.Samples
	if r.env.rec.file != nil {
		r.lastEvent = max(r.lastEvent, r.present())
	}
	r.lastEvent = max(r.lastEvent, r.undated())
	return nil
}

// told is how far sources and operators had counted when that was told last.
type told struct {
	samples, lost, throttled uint64
	late, corrupt, failed    uint64
	read                     event.Loss // of recordings and streams from elsewhere
}

// interval returns what was lost since the last call.
func (r *run) interval() event.Loss {
	router := r.instance.Router
	loss := event.Loss{Lost: router.LostN - r.told.lost, Throttled: router.Throttle - r.told.throttled}
	r.told.lost, r.told.throttled = router.LostN, router.Throttle
	if r.feeder != nil {
		late := r.feeder.Stats().Late
		loss.Late, r.told.late = late-r.told.late, late
	}
	loss.Add(r.instance.Loss())
	read := r.env.rec.loss()
	loss.Truncated += read.Truncated - r.told.read.Truncated
	loss.EndedEarly += read.EndedEarly - r.told.read.EndedEarly
	r.told.read = read
	if r.live != nil {
		corrupt := r.live.Stats().Corrupt
		loss.Truncated += corrupt - r.told.corrupt
		r.told.corrupt = corrupt
	}
	failed := r.instance.Failed()
	loss.Errors += failed - r.told.failed
	r.told.failed = failed
	loss.Add(r.stacks.loss())
	r.total.Add(loss)
	return loss
}

// meta is what all results of this interval share.
func (r *run) meta(name, title string, loss event.Loss, t *interval) result.Meta {
	router := r.instance.Router
	m := result.Meta{Name: name, Title: title, Final: t.final, Loss: loss, Wall: t.now, TotalSamples: router.Samples,
		Samples: router.Samples - r.told.samples, Begin: r.lastEvent, End: router.Last}
	if r.cfg.Options.Interval > 0 {
		m.Seq = r.tickNo
	}
	if r.env.rec.file != nil {
		if end := r.present(); end != 0 {
			m.End = end
		}
		m.Wall = r.clock.of(m.End)
	}
	m.End = max(m.End, r.undated())
	if m.Begin == 0 {
		m.Begin = router.First
	}
	return m
}

// undated is the present where no event tells the time of a live run: counters
// and programs in the kernel only count.
func (r *run) undated() event.Time {
	if r.env.rec.file == nil && (r.kernel != nil || r.counters.any()) {
		return r.present()
	}
	return 0
}

// lossFields are the losses that are not zero, as a note shows them.
func lossFields(l event.Loss) []render.NoteField {
	var fields []render.NoteField
	for _, c := range l.Counts() {
		if c.N > 0 {
			fields = append(fields, render.NoteField{Name: c.Name, Value: event.UintOf(c.N)})
		}
	}
	return fields
}
