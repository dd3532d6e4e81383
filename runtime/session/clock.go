package session

import (
	"context"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/perf"
)

// This file finds out what time it is when perf's clock shows t. The kernel
// offers no way to read that clock, so a record is provoked: the name of this
// thread is set to what it is, which makes a comm record with a time stamp,
// and the wall clock is read before and after. The pair is off by half the
// time in between, some microseconds; it is taken again from time to time,
// since the clocks drift apart by up to 20 us a second.

// clockAge is how old a pair may get.
const clockAge = 30 * time.Second

// A wallClock converts the times of events to wall-clock time.
type wallClock struct {
	at    event.Time
	wall  time.Time
	taken time.Time
	clock perf.Clock
	// conv brings times of perf's clock on that of the events; nil if they are
	// the same.
	conv func(event.Time) event.Time
}

// refresh takes a new pair if the old one is too old. Without one, times stay
// on perf's clock.
func (c *wallClock) refresh() {
	if c.taken.IsZero() || time.Since(c.taken) >= clockAge {
		c.refreshNow()
	}
}

// refreshNow takes a new pair.
func (c *wallClock) refreshNow() {
	c.taken = time.Now()
	if at, wall, ok := perf.ReadClock(context.Background(), c.clock); ok {
		if c.conv != nil {
			at = c.conv(at)
		}
		c.at, c.wall = at, wall
	}
}

// of is the wall-clock time of t; zero if it is not known.
func (c *wallClock) of(t event.Time) time.Time {
	if c.wall.IsZero() {
		return time.Time{}
	}
	return c.wall.Add(time.Duration(t - c.at))
}

// present is the time of events that happen now; for recordings the end of the
// interval, or 0 if that is their last event.
func (r *run) present() event.Time {
	if r.env.rec.file != nil {
		return r.playback.ended()
	}
	return r.clock.now()
}

// now is the time of events that happen now.
func (c *wallClock) now() event.Time {
	if c.wall.IsZero() {
		return 0
	}
	return c.at + event.Time(time.Since(c.wall))
}

// began is when the run began, of a recording when its first event happened.
func (r *run) began() time.Time {
	if r.env.rec.file != nil {
		return r.clock.of(r.instance.Router.First)
	}
	return r.started
}
