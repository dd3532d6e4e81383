package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"ppscript/builtins/pipeline"
	"ppscript/cmd/ppscript/recording/diff"
	"ppscript/cmd/ppscript/recording/resultfile"
	"ppscript/cmd/ppscript/terminal/console"
	"ppscript/cmd/ppscript/terminal/progress"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	outputs "ppscript/runtime/output"
	"ppscript/runtime/plan"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/result"
	"ppscript/runtime/session"
	"ppscript/runtime/source/eventtext"
	"ppscript/runtime/stack/symbol"
)

var asReports = pipeline.Reports

// script runs the script that args name, and returns its error.
func (a *app) script(args []string) error {
	host, _, err := a.newHost()
	if err != nil {
		return err
	}
	ctx, w := a.watchSignals(host)
	defer w.close()
	a.libs.Ctx = ctx
	w.limitTo(durationIn(args))
	w.at(inLoad)
	inv, err := a.invoke(host, args)
	switch {
	case err == nil:
	case w.interrupted():
		return exitError(exitInterrupted)
	default:
		return err
	}
	if inv.asks.version || inv.asks.help || len(inv.asks.helpEvents) > 0 || inv.asks.describe {
		w.close() // the output is help, which may be read in a pager
	}
	shows := inv.asks.version || inv.asks.help || len(inv.asks.helpEvents) > 0
	if g := a.vetting.gate; g != nil && g.Rule == nil && !shows {
		return usagef("sealed", inv.name, "no rule allows it").WithHint("see: ppscript sealed --list")
	}
	switch {
	case inv.asks.version:
		return showVersion(a)
	case len(inv.asks.helpEvents) > 0:
		return helpEvents(a, inv, false)
	case inv.asks.help && inv.module != nil:
		return scriptHelp(&a.Console, inv)
	case inv.asks.help:
		return usage(&a.Console, len(inv.flags.texts("help-all")) > 0)
	case inv.asks.describe:
		return describe(a.Stdout, inv)
	case inv.asks.noName && len(args) == 0:
		return usage(&a.Console, false)
	case inv.asks.noName:
		return usagef("", "", "no script named").
			WithHint("name a profiler or a file: ppscript NAME [options]; " +
				"ppscript list shows the profilers; a script on the command line is ppscript -c 'TEXT'")
	}
	w.limitTo(inv.common.options.Limits.Duration)
	w.at(inMain)
	reports, err := inv.reports()
	if inv.common.input != "" {
		w.bySamples()
	}
	if err != nil {
		if w.interrupted() {
			return exitError(exitInterrupted)
		}
		return err
	}
	return a.audited(inv, func() error { return a.run(ctx, w, inv, reports) })
}

// config makes the session's configuration from the command line.
func (a *app) config(inv *invocation, reports []plan.Report) (session.Config, error) {
	c := inv.common
	if inv.may = inv.permits(a.Say); a.vetting.gate != nil {
		inv.may = a.vetting.gate.Permits(a.Say)
	}
	for _, path := range c.inputs {
		if err := inv.may.Check(plan.Use{Kind: plan.Reads, Name: path, ScriptText: path}); err != nil {
			return session.Config{}, err
		}
	}
	input, err := eventtext.Recording(c.input, a.scratch.directory)
	if err != nil {
		return session.Config{}, err
	}
	c.input = input
	more := c.inputs[min(1, len(c.inputs)):]
	if len(more) > 0 && slices.Contains(c.inputs, "-") {
		return session.Config{}, usagef("option", "--input", "standard input cannot be merged with files").
			WithHint("write it to a file first")
	}
	o := c.options
	o.Recording.Path, o.Recording.More, o.Reading.Token = c.input, more, cmp.Or(c.token, a.token)
	o.Reading.Interpret, o.Reading.Engine = o.Reading.Engine == "interp",
		cmp.Or(o.Reading.Engine, placement.EngineAuto)
	o.Command = strings.Join(append([]string{"ppscript"}, os.Args[1:]...), " ")
	o.Show.NoLog = c.hidesLines() && !c.linesAside
	o.Show.LineStacks = c.page.any()
	kernel := symbol.NewKernel("")
	cfg := session.Config{
		Reports:  reports,
		Target:   c.target,
		Options:  o,
		Services: &expr.Services{Ksym: kernel.Name, KsymOffset: kernel.Text},
	}
	cfg.Permit = inv.may.Check
	cfg.Hooks.Services = func(s *expr.Services) { inv.host.Session.Services = s }
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

// errNoReader is the error if no process opens a pipe for reading in time.
var errNoReader = errors.New("it is a pipe that nobody reads")

// run runs a session and shows its results.
func (a *app) run(ctx context.Context, w *watch, inv *invocation, reports []plan.Report) (err error) {
	c := inv.common
	a.Quiet = c.quiet
	if a.zoneError != nil && a.Quiet == 0 {
		a.Report(a.zoneError)
	}
	c.sayOwners(a.Say)
	a.Color = console.Colorful(os.Stderr, c.render.Color)
	if err := a.libs.Close(); err != nil { // all scripts are loaded now
		return err
	}
	a.confineEarly(c)
	cfg, err := a.config(inv, reports)
	if err != nil {
		return err
	}
	if err := permitOptions(inv, cfg.Permit); err != nil {
		return err
	}
	a.confine(inv, &cfg)
	w.at("open the output " + c.output)
	opening, opened := ctx, func() {}
	if d := c.options.Limits.Duration; d > 0 { // a pipe may have no reader
		opening, opened = context.WithTimeoutCause(ctx, d, errNoReader)
	}
	out, err := resultfile.Open(opening, c.output, a.Stdout)
	opened()
	if err != nil {
		return w.blame(err)
	}
	defer func() {
		if a.nowhere && c.output == "" && out.Written.Load() {
			a.Say("standard output is closed, or is /dev/null opened for reading too: the results are lost")
		}
		err = errors.Join(err, out.Close())
	}()
	v := &view{app: a, common: c, out: out, began: time.Now(), name: inv.name,
		sinceStart: sinceStart(reports)}
	if c.baseline != "" {
		if v.baseline, err = diff.OpenBaseline(c.baseline, c.render.Format, c.options.Interval); err != nil {
			return w.blame(err)
		}
	}
	w.at("open the outputs")
	openers, err := c.openers(a, inv.name, a.Say)
	if err == nil {
		v.sinks, err = outputs.OpenSinks(ctx, openers, v.message)
	}
	if err != nil {
		return w.blame(err)
	}
	defer func() { err = errors.Join(err, v.sinks.Close()) }()
	if inv.livesOnScreen(a.Stdout, reports) {
		v.live, v.quit = inv.name, w.quit
		w.before(v.close)
		defer v.close()
	} else if v.line = progress.OnTerminal(&a.Console); v.line != nil {
		cfg.Options.Recording.Read, cfg.Options.Recording.Named = v.line.Read, v.line.Named
		cfg.Closed = v.line.Closed
		if c.target.Workload == nil { // an observed command writes to the terminal itself
			cfg.Watching = v.line.Waiting(c.options.Limits.Duration)
		}
		defer v.line.Clear()
	}
	cfg.Output, cfg.Messages, cfg.Notes, cfg.Stage = v.open, v.message, v.friendly, w.at
	cfg.Dump, cfg.State = w.dump, v.state
	for _, r := range reports {
		quiet(r, c.quiet)
	}
	if c.orderNoted && c.options.Verbose > 0 {
		v.message("--order has no effect: events are always in order of time where the script needs it")
	}
	w.run(out)
	outcome, err := a.observe(ctx, inv, cfg, out)
	inv.outcome = outcome
	v.close()
	if out.Broken.Load() && errors.Is(err, syscall.EPIPE) {
		err = nil // the reader closed the pipe: no error
	}
	strictly := c.strict && outcome.Unanswered // with --strict, the loss is the error
	if err != nil && !strictly {
		return w.blame(err)
	}
	if err := v.end(outcome); err != nil {
		return err
	}
	if outcome.Nothing != "" && !out.Broken.Load() {
		v.friendly(outcome.Nothing)
	}
	var status error
	if outcome.Status > 0 && !w.interrupted() && !out.Broken.Load() {
		status = a.commandEnded(c.target.Workload.Args[0], outcome.Status, outcome.Signal)
	}
	if c.strict && outcome.Loss.Incomplete() {
		a.Report(incomplete(inv.name, outcome, c.options.Reading.Pages))
		return exitError(exitLost)
	}
	return status
}

// quiet leaves out the decorations of tables.
func quiet(r plan.Report, level int) {
	var l *result.Layout
	switch r := r.(type) {
	case *plan.Group:
		l = &r.View.Layout
	case *plan.Log:
		if r.View == nil {
			return
		}
		l = &r.View.Layout
	default:
		return
	}
	l.NoRule = l.NoRule || level > 0
	l.NoHeader = l.NoHeader || level > 1
	l.NoDate = l.NoDate || level > 1
}
