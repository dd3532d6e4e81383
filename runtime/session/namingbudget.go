package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/stack/dso"
)

// This file bounds the time for finding function names. Program files come from other users,
// and a file with endless symbols must not keep a run from ending.

// graceTime is the total time for which files may still be read after the run's
// end was due. Counts by stack get their names only then.
const graceTime = 10 * time.Second

// mostNotes bounds the messages about files that were not read in full.
const mostNotes = 8

// A namingBudget decides whether files may still be read. It is used by one
// goroutine.
type namingBudget struct {
	// due is the requested end of the run; zero if there is none.
	due time.Time

	ctx   context.Context
	say   func(text string) bool
	ended time.Time // time at which the end was due; zero before that
	notes int
}

// newNamingBudget makes the budget of a run that has to end when ctx ends. say shows a text to
// the user and reports whether it was new.
func newNamingBudget(ctx context.Context, say func(text string) (news bool)) namingBudget {
	return namingBudget{ctx: ctx, say: say}
}

// expired implements dso.Options.Expired: no more files may be read.
func (p *namingBudget) expired() bool {
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

// waited records time that was spent waiting for files from servers. It does not count, since
// it has a bound of its own.
func (p *namingBudget) waited(d time.Duration) {
	if !p.ended.IsZero() {
		p.ended = p.ended.Add(d)
	}
}

// queryGrace is the time that a query in progress still has when the run has to
// end.
const queryGrace = time.Second

// errToldToEnd is the error of a query that was stopped since the run had to
// end.
var errToldToEnd = errors.New("stopped: the query did not end with the run")

// queryEnd returns the check for a query that begins now. It returns an error when
// the query has to stop: at the end of the budget, or queryGrace after the run had
// to end.
func (p *namingBudget) queryEnd() func() error {
	late := p.ctx.Err() != nil // the query belongs to the end of the run
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

// end records that the run ends now.
func (p *namingBudget) end() {
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
}

// note implements dso.Options.Note: it tells the user that a file was not read
// in full.
func (p *namingBudget) note(f *dso.File, err error) {
	if p.notes >= mostNotes {
		return
	}
	text := fmt.Sprintf("symbols of %s: %v: some of its code has no names", f.Name(), err)
	var absent *dso.Absent
	switch {
	case errors.As(err, &absent):
		text = fmt.Sprintf("symbols of %s: %v: some of its inlined functions have no names", f.Name(), err)
	case errors.Is(err, dso.ErrExpired):
		text = fmt.Sprintf("symbols of %s and others: %v: some code has no names", f.Name(), err)
	}
	if p.notes == mostNotes-1 {
		text += "; no message is shown for further files"
	}
	if p.say(text) {
		p.notes++
	}
}
