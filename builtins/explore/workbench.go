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

// DefaultTime is how long a run without another end lasts.
const DefaultTime = 5 * time.Second

// A Workbench lends the builtins the abilities of its owner, the REPL or a test:
// to run, record and write. It is used by one goroutine.
type Workbench struct {
	// Base is the target and the options that every run has.
	Base session.Config
	// Reports makes reports of the values that a script returned; streams are logs.
	Reports func(v starlark.Value) ([]plan.Report, error)
	// Context is the context of runs, which ends at Ctrl-C.
	Context func() context.Context
	// Say tells the user something beside results.
	Say func(line string)
	// Stdout shows results while they come; nil: only values.
	Stdout io.Writer
	Render render.Options
	Abilities
	// Save says that results may be written to files.
	Save bool
	// Replay says that runs need a recording: tests do not look at the kernel.
	Replay bool

	running atomic.Bool
	last    []plan.Report
	recordings
}

// Abilities are what only some owners can do.
type Abilities struct {
	// Record records events into a file; nil: it is not allowed.
	Record func(ctx context.Context, events []string, path string, d time.Duration) error
	// Reload runs the file again that the REPL was started with; nil: none.
	Reload func() error
	// Load loads the script that a name means.
	Load func(h *script.Host, name string) (*script.Module, error)
	// Page shows a text that may be longer than the screen; nil: Stdout takes it.
	Page func(text string) error
	// Doctor is the text of doctor(); nil: it is not allowed.
	Doctor func() (string, error)
}

// recordings are the recordings that runs read.
type recordings struct {
	recording *Recording           // in use; nil: the kernel, or Base's input
	scratch   []string             // directories of recordings that were made
	pipes     map[string]*keptPipe // by the name that was given
}

// Close removes the recordings that were made.
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

// A Limit says when a run ends, and on which input it runs.
type Limit struct {
	Time   time.Duration
	Events uint64
	Input  string
	Every  time.Duration // the interval of results; 0: one result
}

// Running reports that a session runs, which the end of its context stops. It
// may be called from any goroutine.
func (s *Workbench) Running() bool { return s.running.Load() }

// Run runs reports and returns one result for each of them. live shows
// everything on Stdout while it comes.
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

// directory makes one that goes with the shop.
func (s *Workbench) directory() (string, error) {
	dir, err := os.MkdirTemp("", "ppscript-")
	if err == nil {
		s.scratch = append(s.scratch, dir)
	}
	return dir, err
}

// Evaluate runs a value that is a pipeline or a result to be, and shows it
// while it runs. ok is false for values of other kinds.
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

// runnable reports that v is something to run, or a list of such things.
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

// valueOf is a list of results for a list of pipelines, else the one result.
func valueOf(asked starlark.Value, list []starlark.Value) starlark.Value {
	if asked.Type() != "list" && asked.Type() != "tuple" && len(list) == 1 {
		return list[0]
	}
	return starlark.NewList(list)
}

// needs is the error for something that the owner does not allow.
func needs(c *b.Call, what string) error {
	return &diag.Error{Op: c.Builtin.FullName(), Cause: fmt.Errorf("not possible here"), Hint: what}
}
