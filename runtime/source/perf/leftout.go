package perf

import "errors"

// This file handles events that match a pattern and cannot be opened by any
// user: some are in tracefs for the kernel's own tracers, others can be counted
// but not sampled.

// A LeftOut is the warning for an event of a pattern that is left out.
type LeftOut struct {
	Pattern string
	Err     error // the kernel's error for the event
}

func (e *LeftOut) Error() string { return e.Pattern + ": left out: " + e.Err.Error() }
func (e *LeftOut) Unwrap() error { return e.Err }

// isNobodys reports that no user can open an event, with any rights and
// attributes. ftrace:function has a tracepoint, but cannot be sampled like
// others.
func isNobodys(ev *EventConfig, err error) bool {
	return errors.Is(err, errOnlyCounted) || errors.Is(err, errNoTracepoint) ||
		ev.Schema != nil && ev.Schema.System == "ftrace"
}

// leaveOut warns about events that were left out. It is an error if all events of
// a pattern are left out.
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
