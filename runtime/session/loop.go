package session

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"syscall"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
)

// This file is what a run does from its first event to its last result.

// pollTime is how long events may lie in a ring before somebody looks: without
// it a slow trickle would be shown only when the ring is half full.
const pollTime = 100 * time.Millisecond

// loop runs until something ends it, then shows what there is.
func (r *run) loop(ctx context.Context) error {
	r.cfg.stage(Observing)
	r.started = time.Now()
	r.lastTick, r.lastEvent = r.started, r.undated()
	r.counters.begin(r.started)
	defer r.work()()
	defer r.lean()()
	o := &r.cfg.Options
	var deadline, tick, usage time.Time
	if o.Limits.Duration > 0 && !r.env.rec.inFull() {
		deadline = r.started.Add(o.Limits.Duration)
		r.patience.due = deadline
	}
	if o.Interval > 0 && r.env.rec.file == nil {
		tick = r.started.Add(o.Interval)
	}
	speed := newRate(o.Limits.SamplingLimit, r.started)
	self := newUsage()
	if o.Cost.UsageSelf > 0 {
		usage = r.started.Add(o.Cost.UsageSelf)
	}
	for {
		ended, err := r.wait(ctx, earliest(deadline, tick, usage, speed.due()))
		if err != nil {
			return err
		}
		now := time.Now()
		r.feed(ended)
		if p := r.playback; p != nil {
			if ended {
				p.end()
			}
			if p.wrong != nil {
				return p.wrong
			}
		}
		r.dumps(now)
		if err := r.sendRound(ended); err != nil {
			return err
		}
		over := ended || r.plan.Watch && r.env.watch.over(now) || r.failed != nil || r.instance.Router.Done() || ctx.Err() != nil ||
			r.playback != nil && r.playback.over ||
			!deadline.IsZero() && !now.Before(deadline) || r.tooFast(speed, now)
		if over {
			return r.finish(ended)
		}
		// Not before the end, which reads them anyway: a read just before it
		// would leave a period without length.
		if err := r.counters.due(now); err != nil {
			return err
		}
		if !tick.IsZero() && !now.Before(tick) {
			if err := r.endInterval(tick); err != nil {
				return err
			}
			// Missed ticks are merged into one.
			for !tick.After(now) {
				tick = tick.Add(o.Interval)
			}
		}
		r.forgetBetween()
		if !usage.IsZero() && !now.Before(usage) {
			r.env.msgs.say("%s", self.line())
			usage = now.Add(o.Cost.UsageSelf)
		}
		if err := r.out.Flush(); err != nil {
			return err
		}
	}
}

// endInterval shows the results of the interval that ended at that time. What is
// shown by slots of time needs all events of it, and knows which are of the next.
func (r *run) endInterval(at time.Time) error {
	whole := slices.ContainsFunc(plan.Runs[*plan.Table](r.instance), func(t *plan.Table) bool { return t.Spec.View.Whole != nil })
	if whole && r.src != nil {
		r.polled = r.clock.now()
		if err := r.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r.feed(false)
	}
	if now := r.clock.now(); now != 0 {
		r.until = now - event.Time(time.Since(at))
	}
	defer func() { r.until = 0 }()
	return r.tick(false)
}

// tooFast reports, and says, that events come faster than the user allows.
func (r *run) tooFast(speed *rate, now time.Time) bool {
	due := speed.due()
	if due.IsZero() || now.Before(due) {
		return false
	}
	var senders []sender
	switch {
	case r.eval != nil:
		var err error
		if senders, err = r.eval.senders(); err != nil {
			r.failed = err
			return true
		}
	case r.live != nil:
		senders = ringSenders(r.live.Stats().Rings)
	}
	why := speed.exceeded(senders, now)
	if why == "" {
		return false
	}
	r.env.msgs.say("%s", why)
	if r.eval != nil {
		r.eval.exceeded = true
	}
	return true
}

// work begins what goes on beside the run; the function that it returns ends it.
func (r *run) work() (end func()) {
	stop := make(chan struct{})
	var working sync.WaitGroup
	for _, w := range plan.Of[*plan.Busy](r.plan) {
		working.Go(func() { w.Work(stop) })
	}
	return func() {
		close(stop)
		working.Wait()
	}
}

func earliest(ts ...time.Time) time.Time {
	var first time.Time
	for _, t := range ts {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// wait polls the source, at most until next.
func (r *run) wait(ctx context.Context, next time.Time) (ended bool, err error) {
	timeout := pollTime
	if r.eval != nil {
		r.eval.counters.Follow()
	}
	next = earliest(next, r.counters.follow())
	if !next.IsZero() {
		timeout = max(0, min(timeout, time.Until(next)))
	}
	switch {
	case r.kernel != nil:
		err = r.kernel.wait(ctx, r, timeout)
	case r.src != nil:
		if err = r.sweep(); err == nil {
			r.polled = r.clock.now()
			err = r.src.Poll(ctx, timeout)
		}
	case r.counters.any():
		err = r.counters.list[0].counters.Wait(ctx, timeout)
	}
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case ctx.Err() != nil:
		return false, nil
	}
	return false, err
}

// feed brings what is there to the operators.
func (r *run) feed(final bool) {
	if r.feeder != nil && !(r.plan.Overwrite && r.live != nil) {
		r.feeder.Round(r.sink(), final)
	}
}

// finish stops the sources, takes what is left in them, and shows the last
// results.
func (r *run) finish(ended bool) error {
	r.cfg.stage("read the events that are left")
	if r.env.rec.file == nil {
		r.patience.end()
	}
	if err := r.eval.stop(); err != nil {
		return err
	}
	// Counters stop with the events: what comes while the rings are emptied is
	// in neither.
	if err := r.counters.stop(); err != nil {
		return err
	}
	if r.live != nil && !r.instance.Router.Done() {
		if err := r.live.Stop(); err != nil {
			return err
		}
		if err := r.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r.feeder.Round(r.sink(), true)
	}
	if err := r.sendRound(true); err != nil {
		return err
	}
	if r.kernel != nil {
		if err := r.kernel.stop(r); err != nil {
			return err
		}
	}
	if err := r.counters.read(); err != nil {
		return err
	}
	r.sayHolds()
	if h := r.cfg.Hooks.Exit; h != nil && r.failed == nil {
		r.failed = h()
	}
	if errors.Is(r.failed, syscall.EPIPE) {
		return r.failed
	}
	r.cfg.stage("show the results")
	if err := r.tick(true); err != nil {
		return err
	}
	r.sayLeftOut()
	r.sayHidden()
	return r.out.Flush()
}
