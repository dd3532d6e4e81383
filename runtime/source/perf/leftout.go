package perf

import "errors"

// This file is about events that a pattern finds and that nobody can open: some
// are in tracefs for the kernel's own tracers, some can be counted and not
// sampled.

// A LeftOut is the warning that an event of a pattern is left out.
type LeftOut struct {
	Pattern string
	Err     error // the kernel's error for the event
}

func (e *LeftOut) Error() string { return e.Pattern + ": left out: " + e.Err.Error() }
func (e *LeftOut) Unwrap() error { return e.Err }

// isNobodys reports that an event is refused to everybody, with any rights and
// attributes. One of ftrace's events, function, has a tracepoint, which cannot be
// sampled like others.
func isNobodys(ev *EventConfig, err error) bool {
	return errors.Is(err, errOnlyCounted) || errors.Is(err, errNoTracepoint) ||
		ev.Schema != nil && ev.Schema.System == "ftrace"
}

// leaveOut warns of events that were left out. A pattern of which nothing is left
// is an error.
func (o *opener) leaveOut(ms []member, left []*LeftOut) error {
	found := map[string]int{}
	for _, m := range ms {
		found[m.ev.Pattern]++
	}
	for _, l := range left {
		if found[l.Pattern]--; found[l.Pattern] == 0 {
			return l.Err
		}
	}
	for _, l := range left {
		o.warn(l)
	}
	return nil
}
