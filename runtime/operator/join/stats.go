package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

// Stats returns the counters since the start.
func (j *Join) Stats() Stats {
	s := j.tally.stats
	s.Waiting, s.Bytes = j.list.count, j.list.bytes
	return s
}

// Failures are the evaluations of keys and roles that failed.
func (j *Join) Failures() *flow.Errors   { return &j.errs }
func (n *Nested) Failures() *flow.Errors { return &n.errs }

// since is the loss since the values in told.
func (s *Stats) since(told *Stats) event.Loss {
	return event.Loss{
		Unmatched: s.Replaced + s.Cancelled + s.EndsAlone - (told.Replaced + told.Cancelled + told.EndsAlone),
		EndsAlone: s.EndsAlone - told.EndsAlone,
		Broken:    s.Broken + s.InLoss - (told.Broken + told.InLoss),
		Evicted:   s.Evicted - told.Evicted,
	}
}

// Loss returns the losses of the pairs since the last call.
func (j *Join) Loss() event.Loss {
	l := j.tally.stats.since(&j.tally.reported)
	l.Errors = j.errs.N - j.tally.failed
	if t := j.spec.Timeline; t != nil {
		l.Evicted += t.evicted - j.tally.pushed
		j.tally.pushed = t.evicted
	}
	j.tally.reported, j.tally.failed = j.tally.stats, j.errs.N
	return l
}
