package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ppscript/builtins/all"
	"ppscript/builtins/explore"
	"ppscript/builtins/pipeline"
	"ppscript/cmd/ppscript/console"
	"ppscript/cmd/ppscript/findings"
	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/prompt"
	"ppscript/cmd/ppscript/recording"
	"ppscript/cmd/ppscript/watchdog"
	"ppscript/runtime/diag"
	"ppscript/runtime/expr"
	"ppscript/runtime/perf"
	"ppscript/runtime/placement"
	"ppscript/runtime/render"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
	"ppscript/runtime/symbol"
	"ppscript/runtime/wallclock"
)

func replCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "repl [options] [FILE]", Short: "Try the language out, on the running kernel or a recording",
		Long: `Reads statements and runs them. An expression that is a pipeline or a result runs for five seconds, or --duration, or
until Ctrl-C, and shows what it sees; _ keeps it. Names of FILE are there at once. TAB completes names, methods,
parameters, events and their fields. Without a terminal it reads statements from its input, and ends at the first error.`,
		Example: `    ppscript
    ppscript repl --input sched.data
    >>> tracepoint("sched:sched_wakeup").by("comm").count().top(5)
    >>> r = run(_, seconds = 1)
    >>> [row.comm for row in r.rows]
    >>> rec = record("sched:*", seconds = 2); use(rec)`,
		DisableFlagParsing: true,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"star"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, w := range args {
				if w == "-h" || w == "--help" {
					return commandHelp(&a.Console, c, newFlags(nil).list)
				}
			}
			return repl(a, args)
		},
	}
}

// interactive reports that somebody, or something, has statements for us:
// stdin is a terminal, a pipe or a file, and not /dev/null.
func interactive() bool {
	st, err := os.Stdin.Stat()
	if err != nil {
		return false
	}
	return st.Mode()&os.ModeCharDevice == 0 || console.IsTerminal(os.Stdin)
}

// A replSession is the REPL with its running statement.
type replSession struct {
	app   *app
	host  *script.Host
	lang  *script.REPL
	bench *explore.Workbench
	file  string

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func repl(a *app, args []string) (err error) {
	fl := newFlags(nil)
	rest, _, err := fl.parse(args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return usagef("repl", rest[1], "not expected").WithHint("write: ppscript repl [options] [FILE]")
	}
	c, err := readCommon(fl, nil)
	if err != nil {
		return err
	}
	if c.options.Cost.EvalCPUs != nil || c.options.Cost.EvalPIDs != nil {
		return usagef("repl", "--perfeval-*", "results are shown here, and nothing beside them").
			WithHint("write a file, and: ppscript FILE --perfeval-cpus LIST")
	}
	a.Quiet = c.quiet
	s := &replSession{app: a}
	s.begin()
	stop := s.watch()
	defer stop()
	s.bench = newWorkbench(a, c, s.context)
	s.bench.Stdout, s.bench.Save = a.Stdout, true
	s.bench.Base.Options.Reading.Token = cmp.Or(c.token, a.token)
	// The user's lines are his own words; those of a file that is loaded are not.
	may := &permit.Permits{Files: c.allowFiles, Peers: c.allowPeers, Verbose: c.options.Verbose > 0,
		Say: a.Say, Typed: func() bool { return len(s.host.Files()) == 0 }}
	s.bench.Base.Permit = may.Check
	s.bench.Record = func(ctx context.Context, events []string, path string, d time.Duration) error {
		if err := may.Check(session.Use{Kind: session.Writes, Name: path, Given: path}); err != nil {
			return err
		}
		return recordFor(a, ctx, *c, events, path, d)
	}
	s.bench.Doctor = func() (string, error) {
		var text bytes.Buffer
		_, err := findings.Report(s.context(), &text, false)
		return text.String(), err
	}
	defer func() { err = errors.Join(err, s.bench.Close()) }()
	reg, err := all.Workshop(s.bench)
	if err != nil {
		return err
	}
	s.host = a.hostOf(reg)
	s.lang = s.host.NewREPL()
	if len(rest) == 1 {
		s.file = rest[0]
		s.bench.Reload = s.load
		if err := s.load(); err != nil {
			return err
		}
	}
	limit := explore.Limit{Time: c.options.Limits.Duration, Events: c.options.Limits.ExitN}
	if limit.Time == 0 {
		limit.Time = explore.DefaultTime
	}
	if console.IsTerminal(os.Stdin) {
		return s.interactive(reg, limit)
	}
	return s.piped(os.Stdin, limit)
}

// newShop is how the REPL and tests run pipelines.
func newWorkbench(a *app, c *common, ctx func() context.Context) *explore.Workbench {
	kernel := symbol.NewKernel("")
	bench := &explore.Workbench{
		Base: session.Config{
			Target: c.target,
			Options: session.Options{
				Verbose:   c.options.Verbose,
				Recording: session.Recording{Path: c.input},
				Limits:    session.Limits{SamplingLimit: c.options.Limits.SamplingLimit},
				Reading: session.Reading{
					Pages:     c.options.Reading.Pages,
					Watermark: c.options.Reading.Watermark,
					Interpret: c.options.Reading.Engine == "interp",
					Engine:    cmp.Or(c.options.Reading.Engine, placement.EngineAuto),
				},
				Clock: wallclock.Wanted{Monotonic: c.options.Clock.Monotonic},
			},
			Services: &expr.Services{Ksym: kernel.Name, KsymOffset: kernel.Text},
		},
		Reports: pipeline.ReportsOrStreams, Context: ctx, Say: a.Say,
		Abilities: explore.Abilities{Load: a.load},
		Render: render.Options{
			Time: c.render.Time, Color: "never", Width: console.TerminalWidth(a.Stdout),
		},
	}
	if console.Colorful(a.Stdout, c.render.Color) {
		bench.Render.Color = "always"
	}
	return bench
}

func (s *replSession) load() error {
	return s.lang.Load(func(h *script.Host) (*script.Module, error) { return s.app.load(h, s.file) })
}

// begin makes the context of a statement.
func (s *replSession) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.app.libs.Ctx = s.ctx
}

func (s *replSession) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// watch has Ctrl-C stop the statement that runs: a session shows its results
// so far, script code stops. A second Ctrl-C ends a session that goes on.
func (s *replSession) watch() (stop func()) {
	ch, done := make(chan os.Signal, 8), make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	dog := &watchdog.Watchdog{Hung: func(string, time.Duration) { os.Exit(exitInterrupted) }}
	go func() {
		defer close(done)
		for sig := range ch {
			s.mu.Lock()
			again := s.ctx.Err() != nil
			s.cancel()
			s.mu.Unlock()
			if s.host != nil && (again || s.bench == nil || !s.bench.Running()) {
				s.host.Cancel("interrupted")
			}
			if sig != os.Interrupt {
				dog.End()
				os.Stdin.Close()
			}
		}
	}()
	return func() { dog.Close(); signal.Stop(ch); close(ch); <-done }
}

// eval runs a statement and shows its value.
func (s *replSession) eval(text string, limit explore.Limit) error {
	s.begin()
	s.host.Resume()
	v, err := s.lang.Exec(prompt.HelpCall(text))
	if err != nil {
		return err
	}
	out, ran, err := s.bench.Evaluate(v, limit)
	switch {
	case err != nil:
		return err
	case ran:
		s.lang.Globals()["_"] = out
		return nil
	case v.Type() == "NoneType":
		return nil
	}
	shown, err := script.TextOf(v)
	if err != nil {
		return (&diag.Error{Op: "show", Subject: v.Type(), Cause: err}).WithHint("show a part of it")
	}
	_, err = fmt.Fprintln(s.app.Stdout, shown)
	return err
}

// recordFor records events into path for a time, or until ctx ends.
func recordFor(a *app, ctx context.Context, c common, events []string, path string,
	d time.Duration) (err error) {
	if c.input != "" {
		return diag.Errorf(diag.Usage, "record", "", "these pipelines read %s, not the kernel", c.input).
			WithHint("start without --input")
	}
	cfg, err := recording.Config(events, recording.Sampling{}, c.recorded())
	if err != nil {
		return err
	}
	cfg.Warn = warner(&a.Console, c.options.Verbose)
	src, err := perf.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	r, err := recording.New(ctx, src, recording.Options{Path: path, Clock: cfg.Clock})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	if err := r.Finish(r.Loop(ctx)); err != nil {
		return err
	}
	a.Say(r.Summary())
	return nil
}

// piped runs statements from in, without prompts, up to the first error. Whoever
// says nothing at all is shown how to begin.
func (s *replSession) piped(in io.Reader, limit explore.Limit) error {
	src, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if len(src) == 0 && s.file == "" {
		return usage(&s.app.Console, false)
	}
	return s.statements(string(src), func(text string) error { return s.eval(text, limit) })
}
