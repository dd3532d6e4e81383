package slowspan

import (
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/result"
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

	told  bool // what is missing
	spent time.Duration
	since time.Time
}

const (
	// budget is the share of time that explaining may take of a live run, beyond a
	// beginning.
	budget    = 0.25
	beginning = 200 * time.Millisecond
)

// allowed reports that the budget is not used up.
func (s *Story) allowed() bool {
	if !s.Live {
		return true
	}
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return s.spent < beginning+time.Duration(budget*float64(time.Since(s.since)))
}

// Result is what was found since the last call. The first one tells what is missing.
func (s *Story) Result(m result.Meta) *result.Why {
	w := s.Sum.Result(m.Name)
	w.Meta = m
	s.Sum.Reset()
	if !s.told {
		for _, m := range s.Facts.Missing {
			w.Notes = append(w.Notes, m.Why)
		}
		s.told = true
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
