package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/source/wallclock"
)

// This file lets a run that counts and samples do both for the same time. Events
// are opened before the counters and closed after them, one after the other; on a
// busy machine ppscript may lose its CPU in between, and thousands of events would
// be seen that no counter counted. So both begin and end with a read of the
// counters, which takes no more than a microsecond each: some events may be seen
// that are not counted, none looks lost that is not. A command needs no begin:
// everything is open before it runs.

// counted passes the samples that came while the counters counted.
type counted struct {
	clock       *wallclock.Clock
	router      *flow.Router
	list        []*counterRun
	from, until event.Time
}

// together begins the time that both are about: now.
func (c *counters) together(r *run) error {
	if r.in.live == nil || !c.any() || len(r.env.rec.remotes) > 0 {
		return nil
	}
	c.counted = &counted{clock: &r.clock, router: r.instance.Router, list: c.list, until: event.MaxTime}
	if r.cfg.Target.Workload != nil && !r.cfg.Target.System {
		return nil
	}
	c.counted.from = r.clock.Now()
	for _, n := range c.list {
		if err := n.restart(); err != nil {
			return err
		}
	}
	return nil
}

// stop ends it. Clocks drift apart, so they are compared again.
func (c *counted) stop() error {
	if c == nil {
		return nil
	}
	c.clock.RefreshNow()
	for _, n := range c.list {
		if err := n.end(); err != nil {
			return err
		}
	}
	if now := c.clock.Now(); now != 0 {
		c.until = now
	}
	return nil
}

func (c *counted) pass(evs []*event.Event) {
	start := 0
	for i, e := range evs {
		if e.Kind == event.Sample && e.Time != 0 && (e.Time < c.from || e.Time > c.until) {
			if i > start {
				c.router.Events(evs[start:i])
			}
			start = i + 1
		}
	}
	if start < len(evs) {
		c.router.Events(evs[start:])
	}
}
