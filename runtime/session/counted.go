package session

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/source/wallclock"
)

// This file makes a run that counts and samples do both for the same time. Events
// are opened before the counters and closed after them, one after the other. On a
// busy machine ppscript may lose its CPU in between, and thousands of events would
// be sampled that no counter counted. So both periods begin and end with a read of
// the counters, which takes at most a microsecond each. Some events may then be
// sampled that are not counted, but none looks lost that is not. For a command
// this is not necessary: everything is open before it runs.

// counterWindow passes the samples that came while the counters counted.
type counterWindow struct {
	clock       *wallclock.Clock
	router      *flow.Router
	from, until event.Time
}

// together lets samples pass only while counters count, if there are both.
func (c *counters) together(r *run) {
	if r.in.live != nil && c.any() && len(r.env.rec.remotes) == 0 {
		c.counted = &counterWindow{clock: &r.clock, router: r.instance.Router, until: event.MaxTime}
	}
}

// stop ends the window when the counters have been read for the last time. Clocks drift apart, so
// that they are compared again.
func (c *counterWindow) stop() error {
	if c == nil {
		return nil
	}
	c.clock.RefreshNow()
	if now := c.clock.Now(); now != 0 {
		c.until = now
	}
	return nil
}

func (c *counterWindow) pass(evs []*event.Event) {
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
