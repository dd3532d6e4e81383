package perf

import "errors"

// This file is about events that a pattern finds and that nobody can open: some
// are in tracefs for the kernel's own tracers, some can be counted and not
// sampled.

// A LeftOut is the warning that an event of a pattern is left out.
type LeftOut struct {
	Pattern string
	Err     error // what the kernel says of the event
}

func (e *LeftOut) Error() string { return e.Pattern + ": left out: " + e.Err.Error() }
func (e *LeftOut) Unwrap() error { return e.Err }

// isNobodys reports that an event is refused to everybody, whatever their rights
// and however they ask. One of those of ftrace, function, has a tracepoint, which
// is not for samples like others.
func isNobodys(ev *EventConfig, err error) bool {
	return errors.Is(err, errOnlyCounted) || errors.Is(err, errNoTracepoint) || ev.Schema != nil && ev.Schema.System == "ftrace"
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
