package explore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/eventtext"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// DefaultTime is the duration of a run without another bound.
const DefaultTime = 5 * time.Second

// A Workbench runs, records and writes for the builtins, with the functions of
// its owner: the prompt or a test. One goroutine uses it.
type Workbench struct {
	// Base has the target and the options of every run.
	Base session.Config
	// Reports converts values to reports; a stream becomes a log.
	Reports func(v starlark.Value) ([]plan.Report, error)
	// Context returns the context of runs, which ends at Ctrl-C.
	Context func() context.Context
	// Say prints a message to the user.
	Say func(line string)
	// Stdout receives results during a run; nil: they are only returned as
	// values.
	Stdout io.Writer
	Render render.Options
	Abilities
	// Save says that results may be written to files.
	Save bool
	// Replay says that runs need a recording, as in tests, which do not open
	// live events.
	Replay bool

	running atomic.Bool
	last    []plan.Report
	recordings
}

// Abilities has functions that only some owners provide.
type Abilities struct {
	// Record records events into a file; nil: not allowed.
	Record func(ctx context.Context, events []string, path string, d time.Duration) error
	// Reload loads the prompt's file again; nil: the prompt was started without
	// a file.
	Reload func() error
	// Load loads a script by name.
	Load func(h *script.Host, name string) (*script.Module, error)
	// Page shows a text that may be longer than the screen; nil: it is written to
	// Stdout.
	Page func(text string) error
	// Doctor returns the text for doctor(); nil: not allowed.
	Doctor func() (string, error)
}

// recordings has the recordings that runs read.
type recordings struct {
	recording *Recording           // the recording in use; nil: the kernel, or the input of Base
	scratch   []string             // temporary directories
	pipes     map[string]*keptPipe // by path
}

// Close closes pipes and removes the temporary recordings.
func (s *Workbench) Close() error {
	err := s.closePipes()
	for _, dir := range s.scratch {
		if e := os.RemoveAll(dir); e != nil && err == nil {
			err = e
		}
	}
	s.scratch = nil
	return err
}

// A Limit says when a run ends, what it reads, and how often it makes results.
type Limit struct {
	Time   time.Duration
	Events uint64
	Input  string
	Every  time.Duration // the interval of results; 0: one result
}

// Running reports that a session is running; the end of its context will stop
// it. Any goroutine may call it.
func (s *Workbench) Running() bool { return s.running.Load() }

// Run runs reports and returns one result for each. With live, results are also
// shown on Stdout during the run.
func (s *Workbench) Run(reports []plan.Report, l Limit, live bool) ([]starlark.Value, error) {
	if s.Context().Err() != nil {
		return nil, diag.Errorf(diag.Run, "run", "", "interrupted")
	}
	cfg := s.Base
	cfg.Reports = reports
	cfg.Options.Limits.Duration, cfg.Options.Limits.ExitN = l.Time, l.Events
	cfg.Options.Interval = l.Every
	cfg.Options.Show.NoFiles = s.Replay
	switch {
	case l.Input != "":
		cfg.Options.Recording.Path = l.Input
	case s.recording != nil:
		cfg.Options.Recording.Path = s.recording.Path
	}
	if cfg.Options.Recording.Path != "" {
		cfg.Target, cfg.Options.Limits.Duration = perf.Target{}, 0
		input, err := s.lasting(cfg.Options.Recording.Path)
		if err != nil {
			return nil, err
		}
		input, err = eventtext.Recording(input, s.directory)
		if err != nil {
			return nil, err
		}
		cfg.Options.Recording.Path = input
	} else if s.Replay {
		return nil, diag.Errorf(diag.Run, "run", "", "a test has no kernel to look at").
			WithHint(`name a recording, input = "trace.data", or write events down: input = """...""" (ppscript help test)`)
	}
	s.last = reports
	var writing func() context.Context
	if s.Save {
		writing = s.Context
	}
	cap := newCapture(s.Render, reports, writing, cfg.Permit)
	cap.each = l.Every > 0
	var out *liveRenderer
	cfg.Messages, cfg.Notes = s.Say, s.Say
	cfg.Output = func(clock func(event.Time) time.Time) (render.Renderer, error) {
		o := s.Render
		o.Clock = clock
		if err := cap.open(o); err != nil {
			return nil, err
		}
		if !live || s.Stdout == nil {
			return cap, nil
		}
		var err error
		if out, err = newShown(s.Stdout, o); err != nil {
			return nil, err
		}
		return render.Fan(func(show func(render.Renderer) error) error {
			if err := show(cap); err != nil {
				return err
			}
			return show(out)
		}), nil
	}
	cfg.Options.Cost.Started = budget.Started()
	s.running.Store(true)
	outcome, err := session.Run(s.Context(), cfg)
	s.running.Store(false)
	if out != nil {
		err = errors.Join(err, out.end(s.Page))
	}
	if err != nil {
		return nil, err
	}
	if live && outcome.Samples == 0 && outcome.Loss.Zero() && s.Say != nil {
		s.Say("no events came")
	}
	return cap.results(outcome), nil
}

// directory makes a temporary directory, which Close removes.
func (s *Workbench) directory() (string, error) {
	dir, err := os.MkdirTemp("", "ppscript-")
	if err == nil {
		s.scratch = append(s.scratch, dir)
	}
	return dir, err
}

// Evaluate runs v if it is a pipeline, or a list of pipelines, and shows
// results during the run. ok is false for any other value.
func (s *Workbench) Evaluate(v starlark.Value, l Limit) (out starlark.Value, ok bool, err error) {
	if !runnable(v) {
		return nil, false, nil
	}
	reports, err := s.Reports(v)
	if err != nil {
		return nil, true, err
	}
	list, err := s.Run(reports, l, true)
	if err != nil {
		return nil, true, err
	}
	return valueOf(v, list), true, nil
}

// runnable reports that v is a pipeline or a list of pipelines.
func runnable(v starlark.Value) bool {
	switch v.Type() {
	case "stream", "table", "log", "why", "stacks":
		return true
	case "list", "tuple":
		seq := v.(starlark.Indexable)
		for i := range seq.Len() {
			if !runnable(seq.Index(i)) {
				return false
			}
		}
		return seq.Len() > 0
	}
	return false
}

// valueOf returns the results as a list if asked is a list of pipelines, else
// the single result.
func valueOf(asked starlark.Value, list []starlark.Value) starlark.Value {
	if asked.Type() != "list" && asked.Type() != "tuple" && len(list) == 1 {
		return list[0]
	}
	return starlark.NewList(list)
}

// needs makes the error for a builtin that the owner does not allow. what is
// the hint.
func needs(c *b.Call, what string) error {
	return &diag.Error{Op: c.Builtin.FullName(), Cause: fmt.Errorf("not possible here"), Hint: what}
}
