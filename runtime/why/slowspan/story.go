package slowspan

import (
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/why"
)

// A Story is what becomes of the spans of all sinks of a result.
type Story struct {
	// Facts are what explaining needs to know beside events; they are there before events
	// flow.
	Facts why.Config
	// Live holds a budget: time passes while spans are explained.
	Live bool
	Sum  why.Sum

	warned bool // what is missing
	slow   bool // a slow span was found
	none   string
	spent  time.Duration
	since  time.Time
}

const (
	// budget is the share of time that explaining may take of a live run, beyond a
	// beginning.
	budget    = 0.25
	beginning = 200 * time.Millisecond
)

// withinBudget reports that the budget is not used up.
func (s *Story) withinBudget() bool {
	if !s.Live {
		return true
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return s.spent < beginning+time.Duration(budget*float64(time.Since(s.since)))
}

// work does what belongs to an explanation, within the budget. It takes time on the CPU: on a busy host
// the clock goes on while others have it.
func (s *Story) work(explain func()) {
	began := kernel.CPUTime()
	explain()
	s.spent += kernel.CPUTime() - began
}

// add adds an explained span, or keeps it until it is known whether it is among the longest.
func (s *Story) add(span *result.WhySpan, v verdict) {
	if v.kind == among && !v.early.slow {
		v.early.span = span
		return
	}
	s.slow = s.slow || v.kind != normal
	s.Sum.Add(span, v.kind != normal)
}

// skip counts a span for which there is no time.
func (s *Story) skip(v verdict) {
	switch {
	case v.kind == normal:
	case v.kind == among && !v.early.slow:
		v.early.skipped = true
	default:
		s.slow = true
		s.Sum.Skip(1)
	}
}

// Conclude says, at the end of a run, that nothing was slow.
func (s *Story) Conclude(c *Choice) {
	switch {
	case s.slow:
	case c.Than > 0:
		s.none = fmt.Sprintf("no span took longer than %v", time.Duration(c.Than))
	default:
		s.none = "there were no spans: nothing of what was asked for began and ended"
	}
}

// Result is what was found since the last call. The first one tells what is missing.
func (s *Story) Result(m result.Meta) *result.Why {
	w := s.Sum.Result(m.Name)
	w.Meta = m
	s.Sum.Reset()
	if !s.warned {
		for _, m := range s.Facts.Missing {
			w.Notes = append(w.Notes, m.Why)
		}
		s.warned = true
	}
	if s.none != "" {
		w.Notes, s.none = append([]string{s.none}, w.Notes...), ""
	}
	return w
}

// Missing says that an event is missing, what for, and why.
func Missing(event string, cause error) why.Missing {
	m := why.Missing{Event: event, Why: event + " is not observed"}
	for _, n := range why.Needs() {
		if n.Event == event {
			m.Why = fmt.Sprintf("without %s: %s", event, n.For)
		}
	}
	if d, ok := errors.AsType[*diag.Error](cause); ok {
		m.Why += fmt.Sprintf(" (%v)", d.Cause)
	} else if cause != nil {
		m.Why += fmt.Sprintf(" (%v)", cause)
	}
	if hint := diag.HintOf(cause); hint != "" {
		m.Why += "; " + hint
	}
	return m
}
