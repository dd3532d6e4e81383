package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"ppscript/runtime/plan"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ppscript/builtins/all"
	"ppscript/builtins/explore"
	"ppscript/builtins/pipeline"
	"ppscript/cmd/ppscript/findings"
	"ppscript/cmd/ppscript/permit"
	"ppscript/cmd/ppscript/recording"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/prompt"
	"ppscript/cmd/ppscript/watchdog"
	"ppscript/runtime/expr"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/script"
	"ppscript/runtime/session"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/diag"
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

// interactive reports that statements can be read from stdin: it is a terminal, a pipe or a file,
// not /dev/null.
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
	typed *prompt.Session
	file  string

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
	end    func() // ends the reading of statements
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
		return usagef("repl", "--perfeval-*", "the prompt does not show its reports").
			WithHint("write a file, and: ppscript FILE --perfeval-cpus LIST")
	}
	a.Quiet = c.quiet
	c.sayOwners(a.Say)
	a.confineOpener(c, true)
	s := &replSession{app: a, end: func() { os.Stdin.Close() }}
	s.begin()
	stop := s.watch()
	defer stop()
	s.bench = newWorkbench(a, c, s.context)
	s.bench.Stdout, s.bench.Save, s.bench.Page = a.Stdout, true, a.Page
	remote := &s.bench.Base.Options.Reading
	remote.Token, remote.TLS = cmp.Or(c.token, a.token), c.options.Reading.TLS
	// Errors quote the lines that the user types; lines of a loaded file are not quoted.
	may := &permit.Permits{Files: c.extra.files, Peers: c.extra.peers,
		LookOnly: c.extra.nothing, Verbose: c.options.Verbose > 0,
		Say: a.Say, Typed: func() bool { return len(s.host.Files()) == 0 }}
	s.bench.Base.Permit = may.Check
	s.bench.Record = func(ctx context.Context, events []string, path string, d time.Duration) error {
		if err := may.Check(plan.Use{Kind: plan.Writes, Name: path, ScriptText: path}); err != nil {
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
	s.bench.Reload = s.load
	if len(rest) == 1 {
		s.file = rest[0]
		if err := s.load(); err != nil {
			return err
		}
	}
	limit := explore.Limit{Time: c.options.Limits.Duration, Events: c.options.Limits.ExitN}
	if limit.Time == 0 {
		limit.Time = explore.DefaultTime
	}
	s.typed = &prompt.Session{
		Console: &a.Console, Lang: s.lang, Reg: reg, Bench: s.bench, Limit: limit, Scripts: shipped(),
		Begin: func() { s.begin(); s.host.Resume() },
	}
	if !console.IsTerminal(os.Stdin) {
		return s.piped(os.Stdin)
	}
	if err := s.typed.Open(os.Stdin, a.Stdout); err != nil {
		return err
	}
	s.mu.Lock()
	s.end = s.typed.End
	s.mu.Unlock()
	return s.typed.Terminal()
}

// newWorkbench returns the builtins' run() and record() for the REPL and for tests.
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
				Clock: wallclock.ClockChoice{Monotonic: c.options.Clock.Monotonic},
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

// load loads FILE of the command line, and again the files that statements loaded before.
func (s *replSession) load() error {
	if s.file == "" {
		if !s.lang.Loaded() {
			return diag.Errorf(diag.Run, "reload", "", "nothing was loaded").
				WithHint("start with a file, ppscript repl FILE, or load one: load(\"./lib.star\", \"name\")")
		}
		return s.lang.Load(nil)
	}
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

// watch makes Ctrl-C stop the running statement: a session stops and shows its results so far, and
// script code stops. A second Ctrl-C aborts a session that has not ended.
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
				s.mu.Lock()
				s.end()
				s.mu.Unlock()
			}
		}
	}()
	return func() { dog.Close(); signal.Stop(ch); close(ch); <-done }
}

// recordFor records events into path for a time, or until ctx ends.
func recordFor(a *app, ctx context.Context, c common, events []string, path string,
	d time.Duration) (err error) {
	if c.input != "" {
		return diag.Errorf(diag.Usage, "record", "", "these pipelines read %s, not the kernel", c.input).
			WithHint("start without --input")
	}
	cfg, err := recording.Config(events, recording.Sampling{}, c.recorded(), a.Say)
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

// piped runs statements from in, without prompts, up to the first error. If the input is empty, it
// shows how to begin.
func (s *replSession) piped(in io.Reader) error {
	src, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if len(src) == 0 && s.file == "" {
		return usage(&s.app.Console, false)
	}
	return s.typed.Text(string(src))
}
