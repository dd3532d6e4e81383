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

// A Story collects the explained spans of all sinks of a result.
type Story struct {
	// Facts configures the Explainers; it is set before the first event.
	Facts why.Config
	// Live enforces the budget, for runs on a live machine.
	Live bool
	Sum  why.Sum

	warned bool // the notes about missing events were shown
	slow   bool // a slow span was found
	none   string
	spent  time.Duration
	since  time.Time
}

const (
	// budget is the share of a live run's time that explaining may use, in
	// addition to beginning.
	budget    = 0.25
	beginning = 200 * time.Millisecond
)

// withinBudget reports whether the budget is not used up.
func (s *Story) withinBudget() bool {
	if !s.Live {
		return true
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return s.spent < beginning+time.Duration(budget*float64(time.Since(s.since)))
}

// work runs explain and counts its CPU time for the budget. It does not count wall-clock time,
// which also passes while other threads have the CPU.
func (s *Story) work(explain func()) {
	began := kernel.CPUTime()
	explain()
	s.spent += kernel.CPUTime() - began
}

// add adds an explained span. If it is among the first spans, it is kept until it is known
// whether it is one of the longest.
func (s *Story) add(span *result.WhySpan, v verdict) {
	if v.kind == among && !v.early.slow {
		v.early.span = span
		return
	}
	s.slow = s.slow || v.kind != normal
	s.Sum.Add(span, v.kind != normal)
}

// skip counts a span that is not explained because of the budget.
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

// Conclude adds a note at the end of a run if no span was slow.
func (s *Story) Conclude(c *Choice) {
	switch {
	case s.slow:
	case c.Than > 0:
		s.none = fmt.Sprintf("no span took longer than %v", time.Duration(c.Than))
	default:
		s.none = "there were no spans: none began and ended during the run"
	}
}

// Result returns the explanations since the last call. The first result has notes
// about missing events.
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

// Missing describes a missing event: its use, and why it is missing.
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
