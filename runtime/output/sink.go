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

// A Sink is a further output for the results of a run, besides the output that -o and
// --format select: a page in a browser, metrics, Parquet files. It may keep tables,
// histograms and stacks, but must not change them. Lines and details are views that
// die when the call returns.
type Sink interface {
	render.Renderer
	// Begin is called once, before the first result, unless the run ends before events
	// are opened.
	Begin(about About) error
	// Close ends the sink, also after an error. It returns an error if something was
	// not delivered.
	Close() error
}

// About describes the run to a sink.
type About struct {
	Script   string        // name of the profiler or of the script's file
	Args     []string      // the command line after Script
	Interval time.Duration // 0 if results come only at the end
	Recorded bool          // events are from a recording, so their times are in the past
	// Clock converts an event's time to wall-clock time.
	Clock func(event.Time) time.Time
}

// An Opener makes the sink for an option of the command line. Open is called
// before events are opened, so that errors are reported early.
type Opener struct {
	Option, Where string
	Open          func(ctx context.Context) (Sink, error)
}

// Sinks are the sinks of a run.
type Sinks struct {
	open []*running
	say  func(line string)
}

// running is one of the sinks. After an error it is reported, closed and no longer called;
// the run and the other sinks continue.
type running struct {
	Opener
	sink   Sink
	failed error
}

// OpenSinks opens all sinks, or none. say prints the message about a sink that fails
// later.
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

// Beside calls Begin of the sinks, and returns a renderer that shows results on main
// and on all sinks.
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

// A Profiler is a sink that gets the stacks of each interval, with names, even if the
// script does not show them.
type Profiler interface {
	Profile(s *result.Stacks) error
}

// A StackSender sends the stacks of a script to a server. The error of Close says what was
// not delivered.
type StackSender interface {
	SendStacks(script string, s *result.Stacks) error
	Close() error
}

// SendStacks returns a sink that sends the stacks of each interval.
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

// beside shows results on the main output and on all sinks, but profiles only on sinks that
// are Profilers.
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

// each calls f for all sinks that have not failed.
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
		d.Class = diag.Run // not an error of usage, since the output could be opened when the run began
		err = d
	}
	r.failed = err
	_ = r.sink.Close() // its first error is reported instead
	s.say(err.Error() + "; the run goes on without it")
}

// Close ends the sinks. It returns the errors of all sinks that failed at any
// time.
func (s *Sinks) Close() error {
	errs := make([]error, len(s.open))
	var all sync.WaitGroup // each may wait some seconds for a server
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
