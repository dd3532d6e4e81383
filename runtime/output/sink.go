package output

import (
	"context"
	"errors"
	"sync"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
)

// A Sink takes the results of a run, beside the place where -o and --format show them:
// a page in a browser, metrics, files of columns. Tables, histograms and stacks may be
// kept, not changed; lines and details are views that die when the call returns.
type Sink interface {
	render.Renderer
	// Begin comes once, before the first result; not if the run ends before events are
	// opened.
	Begin(about About) error
	// Close ends the sink, also after a failure of it. What it could not deliver is its
	// error.
	Close() error
}

// About is what a sink may want to know of the run.
type About struct {
	Script   string        // the profiler's or file's name
	Args     []string      // the command line behind it
	Interval time.Duration // 0 without intervals: results come at the end
	Recorded bool          // events come from a recording, whose time is not that of the clock
	// Clock turns an event's time into that of the wall.
	Clock func(event.Time) time.Time
}

// An Opener makes the sink that an option of the command line asks for. Open comes
// before events are opened, so that what cannot be is told before.
type Opener struct {
	Option, Where string
	Open          func(ctx context.Context) (Sink, error)
}

// Sinks are the sinks of a run.
type Sinks struct {
	open []*running
	say  func(line string)
}

// running is one of them. One that fails is told, closed and left out from then on: the run
// and the other sinks go on.
type running struct {
	Opener
	sink   Sink
	failed error
}

// OpenSinks opens all of them, or none. say takes the message about one that fails later.
func OpenSinks(ctx context.Context, list []Opener, say func(line string)) (*Sinks, error) {
	s := &Sinks{say: say}
	for _, o := range list {
		sink, err := o.Open(ctx)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.open = append(s.open, &running{Opener: o, sink: sink})
	}
	return s, nil
}

// Beside begins the sinks and returns a renderer that shows on main and on all of them.
func (s *Sinks) Beside(main render.Renderer, about About) render.Renderer {
	if len(s.open) == 0 {
		return main
	}
	s.each(func(to Sink) error { return to.Begin(about) })
	return beside{s, render.Fan(func(show func(render.Renderer) error) error {
		s.each(func(to Sink) error { return show(to) })
		return show(main) // only its errors end the run
	})}
}

// A Profiler is a sink that takes the stacks of each interval, named and apart from those
// that the script shows.
type Profiler interface {
	Profile(s *result.Stacks) error
}

// A StackSender sends the stacks of a script somewhere. What it could not deliver is told at
// its end.
type StackSender interface {
	SendStacks(script string, s *result.Stacks) error
	Close() error
}

// SendStacks is a sink that sends the stacks of each interval.
func SendStacks(to StackSender) Sink { return &stackSink{StackSender: to} }

type stackSink struct {
	render.Ignore
	StackSender
	script string
}

func (s *stackSink) Begin(about About) error {
	s.script = about.Script
	return nil
}

// Profile implements Profiler.
func (s *stackSink) Profile(stacks *result.Stacks) error {
	if len(stacks.Samples) == 0 {
		return nil
	}
	return s.SendStacks(s.script, stacks)
}

// beside shows on the main place and on all sinks, but profiles only where they are wanted.
type beside struct {
	sinks *Sinks
	render.Fan
}

// Show implements render.Renderer.
func (b beside) Show(r result.Result) error {
	s, stacks := r.(*result.Stacks)
	if !stacks || !s.Aside {
		return b.Fan.Show(r)
	}
	b.sinks.each(func(to Sink) error {
		if p, ok := to.(Profiler); ok {
			return p.Profile(s)
		}
		return nil
	})
	return nil
}

// each hands something to all sinks that work.
func (s *Sinks) each(f func(to Sink) error) {
	for _, r := range s.open {
		if r.failed == nil {
			if err := f(r.sink); err != nil {
				s.fail(r, err)
			}
		}
	}
}

func (s *Sinks) fail(r *running, err error) {
	if d := new(diag.Error); !errors.As(err, &d) {
		d = diag.FileError("write --"+r.Option, r.Where, err)
		d.Class = diag.Run // where it goes was good when the run began
		err = d
	}
	r.failed = err
	_ = r.sink.Close() // it failed, which is said
	s.say(err.Error() + "; the run goes on without it")
}

// Close ends the sinks. Its error tells of all that failed.
func (s *Sinks) Close() error {
	errs := make([]error, len(s.open))
	var all sync.WaitGroup // each may wait for somebody else, for some seconds
	for i, r := range s.open {
		all.Go(func() {
			if r.failed == nil {
				r.failed = r.sink.Close()
			}
			errs[i] = r.failed
		})
	}
	all.Wait()
	s.open = nil
	return errors.Join(errs...)
}
