package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ppscript/cmd/ppscript/recording/exporter"
	"ppscript/cmd/ppscript/remote"
	"ppscript/runtime/event"
	outputs "ppscript/runtime/output"
	"ppscript/runtime/output/live"
	"ppscript/runtime/output/prometheus"
	"ppscript/runtime/output/render"
	"ppscript/runtime/session"
	"ppscript/runtime/session/budget"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// This file has the command export, which runs several scripts without end and publishes their results
// as metrics and profiles.
//
// They run in one process. They share one server, the tables of symbols and the memory of one process,
// and metrics keep their types, which text between processes would lose. The price: a bug that ends the
// process ends all scripts, so a supervisor such as systemd should start it again.

// exportInterval is the interval of a script without --interval.
const exportInterval = 10 * time.Second

// exportBudget is the budget of a script without --budget, since nobody watches what it costs.
const exportBudget = 0.05

func exportCommand(a *app) *cobra.Command {
	fl := &flags{set: pflag.NewFlagSet("", pflag.ContinueOnError), common: &common{}}
	of := []string{
		"interval", "budget", "http", "http-token", "otlp", "otlp-profiles", "pyroscope", "metrics-series", "quiet",
		"color", "require-signed", "signers", "no-sandbox", "verbose",
	}
	for _, f := range commonOptions(fl.common) {
		if slices.Contains(of, f.name) {
			if f.name == "interval" {
				f.deflt = exportInterval.String()
			}
			if f.name == "budget" {
				f.deflt = "5% for each script that can be bounded; off is none"
			}
			fl.list = append(fl.list, f)
		}
	}
	c := &cobra.Command{
		Use:   "export CONFIG [options]",
		Short: "Run several scripts without end, as metrics and profiles",
		Long: `Runs several scripts at the same time and without end. The file CONFIG has one on each line, with its options.

    # NAME: SCRIPT [options]
    calls: syscalls -p 4711
    slow-disk: biolatency -i 1m

Their results are metrics at /metrics of --http, or go to the servers of --otlp,
	--otlp-profiles and --pyroscope; docs/metrics.md has the names. SIGHUP reads the file again: new scripts start, removed ones end, and the others go on. A script that ends is started again, after a second at first and after a minute at most; the metrics ppscript_script_up and ppscript_script_failures_total count this.`,
		Example: `    ppscript export /etc/ppscript.conf --http 9464 --http-token /etc/ppscript.token
    ppscript export ppscript.conf --otlp http://localhost:4318 -i 30s`,
		Args: words(1, 1),
		RunE: func(_ *cobra.Command, args []string) error { return (&export{app: a}).run(fl, args[0]) },
	}
	c.Flags().SortFlags = false
	for _, f := range fl.list {
		p := c.Flags().VarPF(f, f.name, f.short, f.help)
		if f.metavar == "" {
			p.NoOptDefVal = "true"
		}
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) {
		help := &flag{name: "help", short: "h", group: groupOther, help: "show this help"}
		a.helpError = commandHelp(&a.Console, c, append(fl.list, help))
	})
	return c
}

// export is a running export command.
type export struct {
	app   *app
	opt   *common
	hub   *remote.Hub
	watch *watch

	loading sync.Mutex // one goroutine at a time opens libraries
}

func (e *export) run(fl *flags, path string) (err error) {
	if e.opt, err = readCommon(fl, nil); err != nil {
		return err
	}
	a, c := e.app, e.opt
	a.Quiet = c.quiet
	if c.options.Interval == 0 {
		c.options.Interval = exportInterval
	}
	if c.page.http == "" && c.remote.OTLP == "" && !c.remote.Profiles() {
		return usagef("export", path, "no option names a place for the results").
			WithHint("add --http 9464 for Prometheus, or --otlp http://localhost:4318")
	}
	reread := make(chan struct{}, 1)
	ctx, w := a.watchFor(nil, reread)
	defer w.close()
	a.libs.Ctx, e.watch = ctx, w
	w.at("read " + path)
	jobs, err := exporter.Read(ctx, path)
	if err == nil {
		err = e.check(jobs)
	}
	if err != nil {
		return w.blame(err)
	}
	w.at("open the outputs")
	if e.hub, err = c.remote.Open(a.Say); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.hub.Close()) }()
	if stop, err := e.serve(ctx); err != nil {
		return err
	} else {
		defer func() { err = errors.Join(err, stop()) }()
	}
	s := &exporter.Supervisor{Run: e.job, Ended: e.ended, OnEnd: func(j exporter.Job) {
		e.hub.Store.Forget(j.Name)
		a.Say(j.Name + ": it ended, since " + path + " no longer has it")
	}}
	a.confineOpener(c, false)
	a.libs.Offline = true // the sandbox forbids to start git
	defer e.hub.Push()
	defer s.Close()
	s.Set(ctx, jobs)
	w.run(nil)
	w.at(session.Observing)
	every := time.NewTicker(c.options.Interval)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-every.C:
			e.hub.Push()
		case <-reread:
			jobs, err := exporter.Read(ctx, path)
			if err == nil {
				err = e.check(jobs)
			}
			if err != nil {
				a.Report(err)
				a.Say("nothing changes: the scripts go on as they were")
				continue
			}
			s.Set(ctx, jobs)
			a.Say(fmt.Sprintf("read %s: %d scripts", path, len(jobs)))
		}
	}
}

// serve begins to answer scrapes, if --http is given.
func (e *export) serve(ctx context.Context) (stop func() error, err error) {
	p := &e.opt.page
	if p.http == "" {
		return func() error { return nil }, nil
	}
	server := live.NewPlain(p.http, p.token)
	h, err := prometheus.Handler(e.hub.Store, e.app.Say)
	if err != nil {
		return nil, err
	}
	server.Handle("/metrics", h)
	if err := server.Listen(ctx); err != nil {
		return nil, err
	}
	where := server.URL("/metrics")
	if path, ok := strings.CutPrefix(p.http, "unix:"); ok {
		where = "curl --unix-socket " + path + " http://localhost/metrics"
	} else if p.token != "" {
		where, _, _ = strings.Cut(where, "?") // keeps a permanent secret out of logs
	}
	e.app.Say("metrics: " + where)
	return server.Close, nil
}

// check loads the scripts of jobs, so that mistakes are reported before anything
// runs.
func (e *export) check(jobs []exporter.Job) error {
	for _, j := range jobs {
		if _, _, err := e.load(j); err != nil {
			return fmt.Errorf("%s: %w", j.Name, err)
		}
	}
	return nil
}

// load loads the script of a job.
func (e *export) load(j exporter.Job) (*invocation, session.Config, error) {
	e.loading.Lock()
	defer e.loading.Unlock()
	var none session.Config
	host, _, err := e.app.newHost()
	if err != nil {
		return nil, none, err
	}
	inv, err := e.app.invoke(host, j.Words)
	if err != nil {
		return nil, none, err
	}
	if asks := inv.asks; asks.version || asks.help || asks.noName || asks.describe || asks.word {
		return nil, none, usagef("export", j.Name, "that is no run").
			WithHint("write %s: SCRIPT [options]", j.Name)
	}
	c := inv.common
	if c.elsewhere() {
		return nil, none, usagef("export", j.Name,
			"a command, a recording or an output of its own has no place here").
			WithHint("leave it out; --http, --otlp and --pyroscope are options of export itself")
	}
	if c.options.Interval == 0 {
		c.options.Interval = e.opt.options.Interval
	}
	c.options.Show.Whole = true
	c.options.Stacks.Profiles = e.opt.remote.Profiles()
	reports, err := inv.reports()
	if err != nil {
		return nil, none, err
	}
	cfg, err := e.app.config(inv, reports)
	cfg.Options.Show.NoFiles = true
	return inv, cfg, err
}

// elsewhere reports that the options of a script send its results to another place, or end its run.
func (c *common) elsewhere() bool {
	return c.output != "" || c.input != "" || len(c.sinks) > 0 || c.page.http != "" || c.page.html != "" ||
		c.remote != (remote.Options{}) || c.target.Workload != nil ||
		len(c.options.Stacks.List())+len(c.options.Timeline.List()) > 0
}

// job runs a script until its context ends.
func (e *export) job(ctx context.Context, j exporter.Job) (err error) {
	inv, cfg, err := e.load(j)
	if err != nil {
		return err
	}
	say := func(line string) { e.app.Say(j.Name + ": " + line) }
	sinks, err := outputs.OpenSinks(ctx, e.hub.Sinks(j.Name), say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sinks.Close()) }()
	cfg.Output = func(clock func(event.Time) time.Time) (render.Renderer, error) {
		return sinks.Beside(render.Ignore{}, outputs.About{
			Script: j.Name, Args: j.Words, Interval: inv.common.options.Interval, Clock: clock,
		}), nil
	}
	cfg.Messages, cfg.State = say, func(line string) error { say(line); return nil }
	usualBudget(&cfg, e.opt.options.Cost.Budget, say)
	cfg.Options.Cost.Started = budget.Started()
	_, err = session.Run(ctx, cfg)
	return err
}

// usualBudget gives a run without a budget the one of the command line or, if there is none,
// exportBudget. The latter is left out if the run cannot be bounded.
func usualBudget(cfg *session.Config, asked float64, say func(string)) {
	cost := &cfg.Options.Cost
	if cost.Budget != 0 {
		return
	}
	cost.Budget = cmp.Or(asked, exportBudget)
	if asked != 0 {
		return
	}
	if _, err := session.Events(*cfg); err != nil {
		say("it runs without a budget: " + err.Error())
		cost.Budget = 0
	}
}

// ended prints that a script has ended, and why.
func (e *export) ended(j exporter.Job, err error, again time.Duration) {
	e.hub.Store.Script(j.Name).Failed()
	e.app.Report(fmt.Errorf("%s: %w", j.Name, err))
	e.app.Say(fmt.Sprintf("%s: it begins again in %s", j.Name, again))
}
