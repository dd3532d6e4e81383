package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/stack/dso"
)

// This file bounds the cost of naming: programs belong to their users, and one whose symbols are endless must
// not keep a run from its end.

// graceTime is how long files may still be read after the run's end was due, in
// all: counts by stack get their names only then.
const graceTime = 10 * time.Second

// mostNotes bounds the files of which it is said that they were not read whole.
const mostNotes = 8

// A namingBudget tells whether files may still be read. It is used by one goroutine.
type namingBudget struct {
	// due is the end that was asked for; zero is none.
	due time.Time

	ctx   context.Context
	say   func(text string) bool
	ended time.Time // since the end was due; zero before
	notes int
}

// newNamingBudget makes the budget of a run, which is told to end with ctx. say tells the user a text,
// and reports whether it is news.
func newNamingBudget(ctx context.Context, say func(text string) (news bool)) namingBudget {
	return namingBudget{ctx: ctx, say: say}
}

// expired is dso.Options.Expired.
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

// waited says that so long nothing was read: files were waited for, within a bound of its own.
func (p *namingBudget) waited(d time.Duration) {
	if !p.ended.IsZero() {
		p.ended = p.ended.Add(d)
	}
}

// queryGrace is how long a query may go on that was asked before the run was told
// to end.
const queryGrace = time.Second

// errToldToEnd is why a query has no answer.
var errToldToEnd = errors.New("stopped: the run was told to end, and the query did not")

// queryEnd says when a query that begins now has to stop: at the end of the budget,
// or soon after the run was told to end.
func (p *namingBudget) queryEnd() func() error {
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
func (p *namingBudget) end() {
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
}

// note is dso.Options.Note.
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
		text += "; of others it is not said"
	}
	if p.say(text) {
		p.notes++
	}
}
