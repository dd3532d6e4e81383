// Package patience bounds the cost of naming: programs belong to whoever runs them, and one
// whose symbols are endless must not keep a run from its end. A session makes one for each run.
package patience

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ppscript/runtime/stack/dso"
)

// graceTime is how long files may still be read after the run's end was due, in
// all: counts by stack get their names only then.
const graceTime = 10 * time.Second

// mostNotes bounds the files of which it is said that they were not read whole.
const mostNotes = 8

// A Patience tells whether files may still be read. It is used by one goroutine.
type Patience struct {
	// Due is the end that was asked for; zero is none.
	Due time.Time

	ctx   context.Context
	say   func(text string) bool
	ended time.Time // since the end was due; zero before
	notes int
}

// New makes the patience of a run, which is told to end with ctx. say tells the user a text,
// and reports whether it is news.
func New(ctx context.Context, say func(text string) (news bool)) Patience {
	return Patience{ctx: ctx, say: say}
}

// Expired is dso.Options.Expired.
func (p *Patience) Expired() bool {
	now := time.Now()
	if p.ended.IsZero() {
		switch {
		case !p.Due.IsZero() && now.After(p.Due):
			p.ended = p.Due
		case p.ctx.Err() != nil:
			p.ended = now
		}
	}
	return !p.ended.IsZero() && now.Sub(p.ended) > graceTime
}

// Waited says that so long nothing was read: files were waited for, within a bound of its own.
func (p *Patience) Waited(d time.Duration) {
	if !p.ended.IsZero() {
		p.ended = p.ended.Add(d)
	}
}

// queryGrace is how long a query may go on that was asked before the run was told
// to end.
const queryGrace = time.Second

// errToldToEnd is why a query has no answer.
var errToldToEnd = errors.New("stopped: the run was told to end, and the query did not")

// QueryEnd says when a query that begins now has to stop: at the end of patience,
// or soon after the run was told to end.
func (p *Patience) QueryEnd() func() error {
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
		if p.Expired() {
			return errToldToEnd
		}
		return nil
	}
}

// End says that the run ends now.
func (p *Patience) End() {
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
}

// Note is dso.Options.Note.
func (p *Patience) Note(f *dso.File, err error) {
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
