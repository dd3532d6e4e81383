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
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/session/cost"
	"ppscript/runtime/system/memory"
	"ppscript/runtime/system/poll"
	"ppscript/runtime/target/threadset"
)

// This file has the main loop of a run, from the first event to the last
// result.

// pollTime is the longest time that events stay in a ring before they are read.
// Without it, rare events would be shown only when the ring is half full.
const pollTime = 100 * time.Millisecond

// beatTime is how often receivers of sent events get a message that no events came.
// Without it, they would hold back later events from other sources. Events themselves
// are sent at once.
const beatTime = 500 * time.Millisecond

// idleTime is the longest sleep of the loop if no events come, or if programs in
// the kernel do all the work. Anything that needs the loop wakes it.
const idleTime = 10 * time.Second

// taking ends a message about events that perf cannot see: how to get them, if there is
// a way.
func (r *run) taking() string {
	if r.cfg.Options.Reading.Engine == placement.EnginePerf {
		return "; without --engine perf, programs that nothing is hidden from take them"
	}
	return ""
}

// tellUnread names programs that were attached during the run, by another tool or by another ppscript,
// whose programs hide nothing. So it is told at once to a person who waits for rows.
func (r *run) tellUnread() {
	others := r.in.skipped.Unread()
	if others == "" {
		return
	}
	text := "another tool attached BPF programs to tracepoints of this run (" + others +
		"): events for which they return 0 do not come any more" + missedSince
	if r.cfg.Watching != nil {
		r.env.msgs.sayOnce(text)
	} else if r.env.msgs.first(text) {
		r.env.msgs.verbose(1, text)
	}
}

// missedSince follows the names of programs that were attached during the run.
const missedSince = "; a run that begins now takes them by programs"

// loop reads events until the run ends, then shows the last results.
func (r *run) loop(ctx context.Context) error {
	if err := errors.Join(r.in.counters.begin(r), r.in.kernel.begin(r), r.in.slots.Begin()); err != nil {
		return err
	}
	if text := r.govern().Beginning(); text != "" {
		r.env.msgs.say("%s", text)
	}
	r.cfg.stage(Observing)
	r.describe()
	r.started = time.Now()
	if r.cfg.Watching != nil && r.env.rec.file == nil {
		r.cfg.Watching(r.observed())
	}
	if r.env.rec.file == nil {
		r.account.own = cost.NewOwn()
	}
	if what := r.plan.UnseenIdle; what != "" && len(r.cfg.Target.Named()) == 0 {
		r.env.msgs.sayOnce("perf does not deliver all of the idle task, and the result lacks it, of " + what +
			"; see: ppscript doctor")
	}
	r.in.skipped.TellHiding(r.env.msgs.say, r.taking())
	r.account.lastEvent = r.undated()
	r.in.counters.since(r.started)
	defer work(r.plan)()
	defer memory.Lean(r.env.rec.file == nil)()
	defer hear(r)()
	o := &r.cfg.Options
	var deadline, tick, usage time.Time
	if o.Limits.Duration > 0 && !r.env.rec.inFull() {
		deadline = r.started.Add(o.Limits.Duration)
		r.naming.due = deadline
	}
	if o.Interval > 0 && r.env.rec.file == nil {
		tick = r.started.Add(o.Interval)
		if o.Aligned {
			tick = r.started.Truncate(o.Interval).Add(o.Interval)
		}
	}
	speed := cost.NewRate(o.Limits.SamplingLimit, r.started)
	self := cost.NewUsage()
	if o.Cost.UsageSelf > 0 {
		usage = r.started.Add(o.Cost.UsageSelf)
	}
	for {
		ended, err := r.wait(ctx, poll.Earliest(deadline, tick, usage, speed.Due()))
		if err != nil {
			return err
		}
		now := time.Now()
		r.feed(ended)
		if err := r.in.slots.Step(); err != nil {
			return err
		}
		o.Limits.budget.Measure()
		r.in.skipped.Look(now)
		if r.in.skipped.News() {
			r.in.skipped.TellHiding(r.env.msgs.say, missedSince)
			r.tellUnread()
		}
		r.in.windows.due()
		if p := r.playback; p != nil {
			if ended {
				p.end()
			}
			if p.wrong != nil {
				return p.wrong
			}
		}
		r.dumps(now)
		if ended && ctx.Err() == nil && r.in.counters.runs.left() {
			if err := r.runAgain(ctx); err != nil {
				return err
			}
			continue
		}
		if err := r.send(ended); err != nil {
			return err
		}
		over := ended || r.plan.Watch && r.env.watch.Over(now, r.in.sawEnds()) || r.results.failed != nil ||
			r.instance.Router.LimitReached() || ctx.Err() != nil ||
			r.playback != nil && r.playback.over ||
			!deadline.IsZero() && !now.Before(deadline) || r.tooFast(speed, now)
		if over {
			return r.finish(ended)
		}
		// This comes after the check for the end, which reads the counters
		// itself: two reads in a row would make a period of no length.
		if err := r.in.counters.due(now); err != nil {
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
		r.stacks.forgetBetween(r)
		if !usage.IsZero() && !now.Before(usage) {
			r.env.msgs.say("%s", self.Line())
			usage = now.Add(o.Cost.UsageSelf)
		}
		if err := r.results.out.Flush(); err != nil {
			return err
		}
	}
}

// endInterval shows the results of the interval that ended at a time. Tables by
// slots of time need all events of the interval, so the rings are read first;
// events of the next interval are kept apart by their slots.
func (r *run) endInterval(at time.Time) error {
	whole := slices.ContainsFunc(plan.Runs[*plan.Table](r.instance), func(t *plan.Table) bool {
		return t.Spec.View.Whole != nil
	})
	if whole && r.in.src != nil {
		if err := r.drain(); err != nil {
			return err
		}
	}
	if now := r.clock.Now(); now != 0 {
		r.account.until = now - event.Time(time.Since(at))
	}
	defer func() { r.account.until = 0 }()
	return r.tick(false)
}

// drain passes all events in the rings to the operators.
func (r *run) drain() error {
	r.in.polled = r.clock.Now()
	if err := r.in.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	r.feed(false)
	return nil
}

// tooFast reports that the run must end, and tells the user why: memory has run out, the budget
// cannot be kept, or events come faster than the user allows.
func (r *run) tooFast(speed *cost.Rate, now time.Time) bool {
	if why := r.cfg.Options.Limits.budget.Out(); why != "" {
		r.env.msgs.say("%s", why)
		return true
	}
	if why := r.in.slots.Exceeded(); why != "" {
		r.env.msgs.say("%s", why)
		return true
	}
	due := speed.Due()
	if due.IsZero() || now.Before(due) {
		return false
	}
	var senders []cost.Sender
	switch {
	case r.eval != nil:
		var err error
		if senders, err = r.eval.senders(); err != nil {
			r.results.failed = err
			return true
		}
	case r.in.live != nil:
		senders = cost.RingSenders(r.in.live.Stats().Rings)
	}
	why := speed.Exceeded(senders, now)
	if why == "" {
		return false
	}
	r.env.msgs.say("%s", why)
	if r.eval != nil {
		r.eval.exceeded = true
	}
	return true
}

// work starts the plan's background work; the function that it returns ends it.
func work(p *plan.Plan) (end func()) {
	stop := make(chan struct{})
	var working sync.WaitGroup
	for _, w := range plan.Of[*plan.Busy](p) {
		working.Go(func() { w.Work(stop) })
	}
	return func() {
		close(stop)
		working.Wait()
	}
}

// wait polls the source, at most until next.
func (r *run) wait(ctx context.Context, next time.Time) (ended bool, err error) {
	timeout := r.nap()
	if k := r.in.kernel; k != nil {
		if err := k.govern.Step(time.Now(), k.rows.sink()); err != nil {
			return false, err
		}
		timeout = min(timeout, k.run.NextSweep(idleTime))
		next = poll.Earliest(next, k.govern.Due())
	}
	if r.env.sender != nil {
		timeout = min(timeout, r.env.sender.NextSweep(idleTime))
	}
	if r.eval != nil {
		r.eval.counters.Follow()
	}
	next = poll.Earliest(next, r.in.counters.follow(), r.in.slots.Due())
	if !next.IsZero() {
		timeout = max(0, min(timeout, time.Until(next)))
	}
	switch {
	case r.in.kernel != nil:
		err = r.in.kernel.wait(ctx, r, timeout)
	case r.in.src != nil:
		if err = errors.Join(r.env.sweep(), lookAtSent(r)); err == nil {
			r.in.polled = r.clock.Now()
			err = r.in.src.Poll(ctx, timeout)
		}
	case r.in.counters.any():
		err = r.in.waitCounters(ctx, timeout)
	}
	switch {
	case errors.Is(err, io.EOF):
		return true, nil
	case ctx.Err() != nil:
		return false, nil
	}
	return false, err
}

// nap is the longest time that the loop may sleep.
func (r *run) nap() time.Duration {
	switch {
	case r.plan.Watch && r.env.watch.Ending():
		return threadset.LastSwitch
	case r.in.windows.awaited(), r.eval != nil:
		return pollTime
	case lone(r) != nil && !plan.Has[*plan.PushOp](r.plan):
		return idleTime
	case len(r.env.rec.remotes) > 0:
		return pollTime
	case plan.Has[*plan.PushOp](r.plan):
		switch {
		case r.in.live == nil || !r.in.live.Idle():
			return pollTime
		case r.results.deliveries.asking():
			return beatTime
		}
		return idleTime
	case r.in.kernel != nil:
		return r.in.kernel.nap()
	case r.in.live != nil && !r.in.live.Idle():
		return pollTime
	case r.in.live == nil && r.in.src != nil:
		return pollTime // a recording
	case r.plan.Watch && !r.env.watch.EndsPoll:
		return time.Second
	}
	if sendsStacks(r) {
		return r.env.quiet.nap()
	}
	return idleTime
}

// hear makes each request for the state of the run wake the loop, until end is
// called.
func hear(r *run) (end func()) {
	var wake func()
	switch {
	case r.cfg.Dump == nil:
	case r.in.kernel != nil:
		wake = r.in.watch.Wake
	case r.in.live != nil:
		wake = r.in.live.Wake
	case r.in.counters.any():
		wake = r.in.wakeCounters
	case lone(r) != nil:
		wake = lone(r).file.Wake
	}
	if wake == nil {
		return func() {}
	}
	return poll.Hear(r.cfg.Dump, func() {
		r.statusAsked.Store(true)
		wake()
	})
}

// feed passes the polled events to the operators.
func (r *run) feed(final bool) {
	if r.in.feeder != nil && !(r.plan.Overwrite && r.in.live != nil) {
		r.in.feeder.Round(r.sink(), final)
	}
}

// finish stops the sources, reads their remaining events, and shows the last
// results.
func (r *run) finish(ended bool) error {
	r.cfg.stage("read the events that are left")
	if r.env.rec.file == nil {
		r.naming.end()
	}
	// Counters and events stop together, so that neither counts what happens
	// while the rings are emptied.
	if err := errors.Join(r.eval.stop(), r.in.counters.stop(), r.in.slots.Stop()); err != nil {
		return err
	}
	if r.in.live != nil && !r.instance.Router.LimitReached() {
		if err := r.in.live.Stop(); err != nil {
			return err
		}
		if err := r.in.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r.in.feeder.Round(r.sink(), true)
	}
	if err := r.send(true); err != nil {
		return err
	}
	if r.in.kernel != nil {
		if err := r.in.kernel.stop(r); err != nil {
			return err
		}
	}
	if err := r.in.counters.read(); err != nil {
		return err
	}
	r.sayHolds()
	if h := r.cfg.Hooks.Exit; h != nil && r.results.failed == nil {
		r.results.failed = h()
	}
	if errors.Is(r.results.failed, syscall.EPIPE) {
		return r.results.failed
	}
	r.cfg.stage("show the results")
	if err := r.tick(true); err != nil {
		return err
	}
	r.sayLeftOut()
	r.sayHidden()
	err := r.results.out.Flush()
	if text := r.govern().Ended(); text != "" {
		r.env.msgs.say("%s", text)
	}
	return err
}
