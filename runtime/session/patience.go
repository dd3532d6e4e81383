package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/dso"
)

// This file bounds the cost of naming: programs belong to whoever runs them,
// and one whose symbols are endless must not keep a run from its end.

// graceTime is how long files may still be read after the run's end was due, in
// all: counts by stack get their names only then.
const graceTime = 10 * time.Second

// mostNotes bounds the files of which it is said that they were not read whole.
const mostNotes = 8

// A patience tells whether files may still be read.
type patience struct {
	ctx   context.Context
	msgs  *messages
	due   time.Time // the end that was asked for; zero is none
	ended time.Time // since the end was due; zero before
	notes int
}

// expired is dso.Options.Expired.
func (p *patience) expired() bool {
	now := time.Now()
	if p.ended.IsZero() {
		switch {
		case !p.due.IsZero() && now.After(p.due):
			p.ended = p.due
		case p.ctx.Err() != nil:
			p.ended = now
		}
	}
	return !p.ended.IsZero() && now.Sub(p.ended) > graceTime
}

// queryGrace is how long a query may go on that was asked before the run was told
// to end.
const queryGrace = time.Second

// errToldToEnd is why a query has no answer.
var errToldToEnd = errors.New("stopped: the run was told to end, and the query did not")

// queryEnd says when a query that begins now has to stop: at the end of patience,
// or soon after the run was told to end.
func (p *patience) queryEnd() func() error {
	late := p.ctx.Err() != nil // it is one of the end
	var told time.Time
	return func() error {
		if p.ctx.Err() != nil && !late {
			now := time.Now()
			if told.IsZero() {
				told = now
			}
			if now.Sub(told) > queryGrace {
				return errToldToEnd
			}
		}
		if p.expired() {
			return errToldToEnd
		}
		return nil
	}
}

// end says that the run ends now.
func (p *patience) end() {
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
}

// note is dso.Options.Note.
func (p *patience) note(f *dso.File, err error) {
	if p.notes >= mostNotes {
		return
	}
	text := fmt.Sprintf("symbols of %s: %v: some of its code has no names", f.Name(), err)
	if errors.Is(err, dso.ErrExpired) {
		text = fmt.Sprintf("symbols of %s and others: %v: some code has no names", f.Name(), err)
	}
	if p.msgs.said[text] {
		return
	}
	if p.notes++; p.notes == mostNotes {
		text += "; of others it is not said"
	}
	p.msgs.sayOnce(text)
}
