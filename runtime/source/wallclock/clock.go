// Package wallclock relates the times of events to other clocks: to the time of day, to the
// counter of the CPU, to the clock of a guest. It is the session that uses it; of a
// recording the file says what the time was.
package wallclock

import (
	"context"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// This file finds out what time it is when perf's clock shows t. The kernel
// offers no way to read that clock, so a record is provoked: the name of this
// thread is set to what it is, which makes a comm record with a time stamp,
// and the wall clock is read before and after. The pair is off by half the
// time in between, some microseconds; it is taken again from time to time,
// since the clocks drift apart by up to 20 us a second.

// clockAge is how old a pair may get.
const clockAge = 30 * time.Second

// A Clock converts the times of events to wall-clock time.
type Clock struct {
	// At is a time of the events, and Wall the wall-clock time then.
	At     event.Time
	Wall   time.Time
	readAt time.Time
	// Kind is the clock that stamps the events.
	Kind perf.Clock
	// Conv brings times of perf's clock on that of the events; nil if they are
	// the same.
	Conv func(event.Time) event.Time
}

// Refresh takes a new pair if the old one is too old. Without one, times stay
// on perf's clock.
func (c *Clock) Refresh() {
	if c.readAt.IsZero() || time.Since(c.readAt) >= clockAge {
		c.RefreshNow()
	}
}

// RefreshNow takes a new pair.
func (c *Clock) RefreshNow() {
	c.readAt = time.Now()
	if at, wall, ok := perf.ReadClock(context.Background(), c.Kind); ok {
		if c.Conv != nil {
			at = c.Conv(at)
		}
		c.At, c.Wall = at, wall
	}
}

// Of is the wall-clock time of t; zero if it is not known.
func (c *Clock) Of(t event.Time) time.Time {
	if c.Wall.IsZero() {
		return time.Time{}
	}
	return c.Wall.Add(time.Duration(t - c.At))
}

// Now is the time of events that happen now.
func (c *Clock) Now() event.Time {
	if c.Wall.IsZero() {
		return 0
	}
	return c.At + event.Time(time.Since(c.Wall))
}
