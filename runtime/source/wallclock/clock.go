// Package wallclock converts the times of events to other clocks: the time of day, the
// counter of the CPU, or the clock of a guest (a virtual machine). The session uses it for
// live runs; a recording has the time of day in its file.
package wallclock

import (
	"context"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
)

// This file relates perf's clock to the time of day. The kernel has no call
// that reads perf's clock. So this thread's name is set to its current name,
// which makes a COMM record with a time stamp, and the wall clock is read
// before and after. The error of such a pair of times is half the time in
// between, some microseconds. The pair is renewed from time to time, since the
// clocks drift apart by up to 20 us a second.

// clockAge is the age at which Refresh takes a new pair of times.
const clockAge = 30 * time.Second

// A Clock converts the times of events to wall-clock time.
type Clock struct {
	// At is a time on the events' clock, and Wall the wall-clock time at the
	// same moment.
	At     event.Time
	Wall   time.Time
	readAt time.Time
	// Kind is the clock that stamps the events.
	Kind perf.Clock
	// Conv converts times of perf's clock to the events' clock; nil if they are
	// the same.
	Conv func(event.Time) event.Time
}

// Refresh takes a new pair of times if the old one is older than clockAge. If
// that fails, the old pair stays.
func (c *Clock) Refresh() {
	if c.readAt.IsZero() || time.Since(c.readAt) >= clockAge {
		c.RefreshNow()
	}
}

// RefreshNow takes a new pair of times.
func (c *Clock) RefreshNow() {
	c.readAt = time.Now()
	if at, wall, ok := perf.ReadClock(context.Background(), c.Kind); ok {
		if c.Conv != nil {
			at = c.Conv(at)
		}
		c.At, c.Wall = at, wall
	}
}

// Of returns the wall-clock time of t; zero if it is unknown.
func (c *Clock) Of(t event.Time) time.Time {
	if c.Wall.IsZero() {
		return time.Time{}
	}
	return c.Wall.Add(time.Duration(t - c.At))
}

// Now returns the present time on the events' clock; 0 if it is unknown.
func (c *Clock) Now() event.Time {
	if c.Wall.IsZero() {
		return 0
	}
	return c.At + event.Time(time.Since(c.Wall))
}
