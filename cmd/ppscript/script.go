package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"ppscript/builtins/pipeline"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/notation"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/session"
	"ppscript/runtime/symbol"
)

var asReports = pipeline.Reports

// script runs the script that args name, and returns what went wrong.
func (a *app) script(args []string) error {
	host, _, err := a.newHost()
	if err != nil {
		return err
	}
	ctx, w := a.watchSignals(host)
	defer w.close()
	a.ctx = ctx
	w.dog.limitTo(durationIn(args))
	w.at("load the script")
	inv, err := a.invoke(host, args)
	switch {
	case err == nil:
	case w.interrupted():
		return exitError(exitInterrupted)
	default:
		return err
	}
	switch {
	case inv.version:
		return a.version()
	case len(inv.helpEvents) > 0:
		return a.helpEvents(inv)
	case inv.help && inv.module != nil:
		return a.scriptHelp(inv)
	case inv.help:
		return a.usage()
	case inv.describe:
		return a.describe(inv)
	case inv.noName && len(args) == 0:
		return a.usage()
	case inv.noName:
		return usagef("", "", "no script named").WithHint("name a profiler or a file: ppscript NAME [options]; ppscript list shows the profilers")
	}
	w.dog.limitTo(inv.common.duration)
	w.at("run the script's main")
	reports, err := inv.reports()
	if err != nil {
		if w.interrupted() {
			return exitError(exitInterrupted)
		}
		return err
	}
	return a.run(ctx, w, inv, reports)
}

// config is what the session gets from the command line.
func (a *app) config(inv *invocation, reports []plan.Report) (session.Config, error) {
	c := inv.common
	input, err := notation.Recording(c.input, a.directory)
	if err != nil {
		return session.Config{}, err
	}
	c.input = input
	more := c.inputs[min(1, len(c.inputs)):]
	if len(more) > 0 && slices.Contains(c.inputs, "-") {
		return session.Config{}, usagef("option", "--input", "standard input cannot be merged with files").WithHint("write it to a file first")
	}
	kernel := symbol.NewKernel("")
	cfg := session.Config{
		Reports: reports,
		Target:  c.target,
		Options: session.Options{
			Input: c.input, More: more, Interval: c.interval, Duration: c.duration, From: c.from, To: c.to, ExitN: c.exitN, SamplingLimit: c.limit, Pages: c.pages,
			EvalCPUs: c.evalCPUs, EvalPIDs: c.evalPIDs,
			Watermark: c.watermark, UsageSelf: c.usage, Verbose: c.verbose, Interpret: c.engine == "interp",
			Engine:     cmp.Or(c.engine, plan.EngineAuto),
			OrderBytes: c.orderBytes, ClockOffset: c.offset, TSC: c.tsc, KVMClock: c.kvmclock, Token: cmp.Or(c.token, a.token),
			Monotonic: c.monotonic, FlameGraph: c.flame, FlameBase: c.flameBase, Pprof: c.pprof, IncludeSelf: c.self,
			Lines: c.lines, SymRoot: c.symRoot, DebugDirs: c.debugDirs,
		},
		Services: &expr.Services{Ksym: kernel.Text},
	}
	cfg.Hooks.Services = inv.host.SetServices
	if inv.module == nil {
		return cfg, nil
	}
	for _, h := range []struct {
		name string
		to   *func() error
	}{{"on_interval", &cfg.Hooks.Interval}, {"on_exit", &cfg.Hooks.Exit}} {
		fn, err := inv.host.Callback(inv.module, h.name, 0)
		if err != nil {
			return cfg, err
		}
		if fn != nil {
			*h.to = func() error { return fn() }
		}
	}
	lost, err := inv.host.Callback(inv.module, "on_lost", 1)
	if lost != nil {
		cfg.Hooks.Lost = func(n uint64) error { return lost(event.UintOf(n)) }
	}
	return cfg, err
}

// run runs a session and shows its results.
func (a *app) run(ctx context.Context, w *watch, inv *invocation, reports []plan.Report) (err error) {
	c := inv.common
	a.quiet = c.quiet
	a.color = colorful(os.Stderr, c.render.Color)
	cfg, err := a.config(inv, reports)
	if err != nil {
		return err
	}
	w.at("open the output " + c.output)
	out, err := openOutput(ctx, c.output, a.stdout)
	if err != nil {
		return w.blame(err)
	}
	defer func() { err = errors.Join(err, out.close()) }()
	v := &view{app: a, common: c, out: out, began: time.Now()}
	if a.livesOnScreen(inv, reports) {
		v.live, v.quit = inv.name, w.quit
		w.before(v.close)
		defer v.close()
	}
	cfg.Output, cfg.Messages, cfg.Dump, cfg.Stage = v.open, v.message, w.dump, w.at
	for _, r := range reports {
		quiet(r, c.quiet)
	}
	if c.orderNoted && c.verbose > 0 {
		v.message("--order: events are ordered by time wherever the script needs it, without being told")
	}
	w.run(out)
	outcome, err := session.Run(ctx, cfg)
	v.close()
	if out.broken.Load() && errors.Is(err, syscall.EPIPE) {
		err = nil // the reader has what it wanted
	}
	if err != nil {
		return w.blame(err)
	}
	if err := v.end(outcome); err != nil {
		return err
	}
	if outcome.Observed && outcome.Samples == 0 && outcome.Loss.Zero() && !out.broken.Load() {
		a.say("no events came")
	}
	var status error
	if outcome.Status > 0 && !w.interrupted() && !out.broken.Load() {
		status = a.commandEnded(c.target.Workload.Args[0], outcome.Status, outcome.Signal)
	}
	if c.strict && outcome.Loss.Incomplete() {
		a.report(incomplete(inv.name, outcome.Loss, c.pages))
		return exitError(exitLost)
	}
	return status
}

// quiet leaves out what decorates tables.
func quiet(r plan.Report, level int) {
	g, ok := r.(*plan.Group)
	if !ok {
		return
	}
	g.View.Layout.NoRule = g.View.Layout.NoRule || level > 0
	g.View.Layout.NoHeader = g.View.Layout.NoHeader || level > 1
	g.View.Layout.NoDate = g.View.Layout.NoDate || level > 1
}

// A view is where a session shows results and messages.
type view struct {
	app      *app
	common   *common
	out      *output
	renderer render.Renderer
	early    []string // messages before there was a renderer
	began    time.Time

	live   string // what redraws on the terminal; "" prints
	quit   func()
	screen atomic.Pointer[screen]
}

// open makes the renderer: events are about to come.
func (v *view) open(clock func(event.Time) time.Time) (render.Renderer, error) {
	o := v.common.render
	o.Clock = clock
	o.Start = v.start(clock)
	o.Width = terminalWidth(v.app.stdout)
	if v.out.path == "" {
		o.Notes = v.app.stderr
		o.Terminal = func() int { return terminalWidth(v.app.stdout) }
		if colorful(v.app.stdout, o.Color) {
			o.Color = "always"
		}
	}
	if err := v.out.begin(); err != nil {
		return nil, err
	}
	var err error
	if v.live != "" {
		s, err := newScreen(v.out, v.app.stdout, o, v.live, v.common.interval, v.app.stderr, v.quit)
		if err != nil {
			return nil, err
		}
		v.screen.Store(s)
		v.renderer = s
	} else if v.renderer, err = render.New(v.out, o); err != nil {
		return nil, err
	}
	for _, line := range v.early {
		if err := v.note(line); err != nil {
			return nil, err
		}
	}
	v.early = nil
	return v.renderer, nil
}

// close gives the terminal back if results were redrawn on it.
func (v *view) close() {
	if s := v.screen.Load(); s != nil {
		s.close()
	}
}

// start is the zero of --time rel: the beginning of the run, or the first
// sample of a recording.
func (v *view) start(clock func(event.Time) time.Time) event.Time {
	if v.common.render.Time != "rel" {
		return 0
	}
	if v.common.input != "" {
		if st, err := os.Stat(v.common.input); err != nil || !st.Mode().IsRegular() {
			return 0 // of a pipe nothing is known yet, and it is read once
		}
		f, err := perfdata.Open(v.common.input, perfdata.Options{})
		if err != nil {
			return 0 // the session has read it: it will say so
		}
		defer f.Close()
		return f.Info().FirstSample
	}
	if zero := clock(0); !zero.IsZero() {
		return event.Time(v.began.Sub(zero))
	}
	return 0
}

// message shows a line of the session on stderr, and in JSON as a record too.
func (v *view) message(line string) {
	if s := v.screen.Load(); s != nil && v.app.quiet == 0 {
		s.say(line)
		return
	}
	v.app.say(line)
	if v.common.render.Format != "json" {
		return
	}
	if v.renderer == nil {
		v.early = append(v.early, line)
		return
	}
	// A reader that is gone shows at the next result.
	_ = v.note(line)
}

func (v *view) note(line string) error {
	return v.renderer.Note("message", render.NoteField{Name: "text", Value: event.StrOf(line)})
}

// end writes the record that closes JSON output.
func (v *view) end(o session.Outcome) error {
	if v.renderer == nil || v.common.render.Format != "json" || v.out.broken.Load() {
		return nil
	}
	fields := []render.NoteField{
		{Name: "samples", Value: event.UintOf(o.Samples)},
		{Name: "missing", Value: event.UintOf(o.Loss.Missing())},
	}
	if st := o.Stats; st != nil {
		fields = append(fields, render.NoteField{Name: "attached", Value: event.StrOf(st.Mode)},
			render.NoteField{Name: "opened", Value: event.IntOf(int64(st.Opened))},
			render.NoteField{Name: "rings", Value: event.IntOf(int64(len(st.Rings)))})
	}
	if o.Status >= 0 {
		fields = append(fields, render.NoteField{Name: "status", Value: event.IntOf(int64(o.Status))})
	}
	return errors.Join(v.renderer.Note("end", fields...), v.renderer.Flush())
}
