package session

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/system/memory"
)

// scanTime bounds the time for reading the names of all processes at start.
const scanTime = 20 * time.Millisecond

// A run executes a plan once. It passes the events of its sources to the
// operators of the plan, and delivers their results.
type run struct {
	env      *env
	cfg      *Config
	plan     *plan.Plan
	instance *plan.Instance // of the plan; nil until the sources are open
	in       sources
	clock    wallclock.Clock
	playback *playback // nil unless something depends on a recording's time
	eval     *eval     // nil unless Cost.evaluates
	stacks   *runStacks
	results  results
	account  account
	started  time.Time

	unanswered  bool   // settled returned an error
	silence     string // why no events came; "" if some did
	naming      namingBudget
	statusAsked atomic.Bool // the state of the run was requested
}

// Run makes a plan, opens it, runs it, shows the results and closes it. It
// returns when ctx ends (the orderly way to stop: results are shown), when the
// target ends, or when a limit is reached.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	if err := cfg.permitAll(); err != nil {
		return Outcome{Status: -1}, err
	}
	opening := ctx
	if d := cfg.Options.Limits.Duration; d > 0 {
		var stop context.CancelFunc
		opening, stop = context.WithTimeout(ctx, d)
		defer stop()
	}
	if c := &cfg.Options.Cost; c.Show && c.Budget == 0 {
		// The cost is measured by a Governor with a budget of all CPUs, which
		// nothing reaches, if the plan allows a budget.
		all := cfg
		all.Options.Cost.Budget, all.Options.Cost.look = 1, true
		if _, err := Events(all); err == nil {
			c.Budget, c.look = 1, true
		}
	}
	wd, err := open(opening, &cfg)
	if err != nil {
		return Outcome{Status: -1}, err
	}
	if err := withFiles(&cfg); err != nil {
		return Outcome{Status: -1}, errors.Join(err, wd.close())
	}
	r := &run{
		env:     wd,
		cfg:     &cfg,
		in:      sources{workload: ending{status: -1}},
		results: results{cfg: &cfg, msgs: wd.msgs, files: tableFiles{}},
		naming:  newNamingBudget(ctx, wd.msgs.sayOnce),
	}
	r.results.account = &r.account
	err = errors.Join(r.do(ctx), wd.close())
	o := Outcome{
		Samples:  r.samples(),
		Loss:     r.account.total,
		Gaps:     r.in.gaps(),
		Status:   r.in.workload.status,
		Signal:   r.in.workload.signal,
		Observed: r.in.observe(), Unanswered: r.unanswered, Nothing: r.silence,
	}
	if r.in.live != nil {
		st := r.in.live.Stats()
		o.Stats = &st
	}
	if r.in.kernel != nil {
		o.Stats = r.in.kernel.stats(&cfg.Target)
	}
	return o, err
}

func (r *run) samples() uint64 {
	if r.instance == nil {
		return 0
	}
	return r.instance.Samples()
}

func (r *run) do(ctx context.Context) (err error) {
	defer keepTo(r)()
	if r.plan, err = plan.Build(r.cfg.Reports, r.env.env(r.cfg)); err != nil {
		return err
	}
	if h := r.cfg.Hooks.Parts.Plan; h != nil {
		if err = h(r.plan); err != nil {
			return err
		}
	}
	if err = checkTarget(r.plan, &r.cfg.Target); err != nil {
		return err
	}
	if text := memory.Tight(memory.Limit(), r.plan.Mappings && r.plan.HasStacks); text != "" {
		r.env.msgs.sayOnce(text)
	}
	defer func() { err = errors.Join(err, r.close()) }()
	openStacks(r)
	r.cfg.stage("open the files of results")
	if err = r.results.deliveries.open(r.env.rec.opening, r); err != nil {
		return err
	}
	r.in.slots.Measure(r.cfg.Options.Cost.Budget, r.plan)
	r.cfg.stage("open the events")
	if err = r.open(ctx); err != nil {
		return err
	}
	r.results.wall = r.wall()
	if r.results.watch.Renderer, err = r.cfg.Output(r.results.wall); err != nil {
		return err
	}
	r.results.out = &r.results.watch
	r.prepare()
	if err = r.results.deliveries.begin(ctx, r.instance.Running); err != nil {
		return err
	}
	if !r.in.observe() && plan.Has[*plan.Text](r.plan) {
		return r.results.out.Flush()
	}
	if err = r.in.slots.Open(r.cfg.Options.Cost.Budget, r); err != nil {
		return err
	}
	if !r.in.counters.runs.left() { // else runAgain confines in the last run
		if err = confine(r); err != nil {
			return err
		}
	}
	err = r.loop(ctx)
	if failed := r.settled(); err == nil {
		err, r.unanswered = failed, failed != nil
	}
	if err != nil {
		return err
	}
	if r.samples() == 0 && r.account.total.Zero() {
		r.silence = r.nothing()
	}
	return r.results.failed
}

// wall returns the function that converts times of events to wall-clock times;
// nil if they cannot be converted.
func (r *run) wall() func(event.Time) time.Time {
	switch {
	case r.env.rec.file != nil && r.clock.Wall.IsZero():
		return nil // the recording does not have it
	case r.cfg.Options.Clock.TSC:
		return nil // cycles cannot be converted
	}
	return r.clock.Of
}

// open opens the sources that the plan needs.
func (r *run) open(ctx context.Context) (err error) {
	p := r.plan
	if err := r.env.cgroups.open(r.env, p); err != nil {
		return err
	}
	if w := r.cfg.Target.Workload; w != nil {
		w.Openers = len(plan.Of[*plan.CounterOp](p)) + min(1, len(p.Events))
		if r.cfg.Options.Cost.evaluates() {
			w.Openers++
		}
	}
	if r.env.rec.file == nil {
		r.env.sayExcluded(p)
	}
	switch {
	case r.env.rec.file != nil:
	case r.openKernel(ctx, &err):
		if err != nil {
			return err
		}
	case len(localEvents(p)) > 0:
		if p, r.in.live, err = r.env.openLive(ctx, p); err != nil {
			return err
		}
		r.plan, r.in.skipped = p, hookcost.WatchMisses(perf.Descriptors(r.in.live))
		if err := r.clock.Find(ctx, &r.cfg.Options.Clock, r.env.guestClock(), r.in.live); err != nil {
			return err
		}
		r.in.src = r.clock.Convert(r.in.live)
		if p.Watch {
			if err := r.env.watch.Begin(&r.cfg.Target); err != nil {
				return err
			}
			r.env.watch.Await(r.in.live)
		}
	}
	r.instance = r.plan.Instantiate()
	programs(r)
	if r.env.rec.file != nil {
		if err := r.openRecording(); err != nil {
			return err
		}
	}
	if err := r.in.windows.open(r); err != nil {
		return err
	}
	if err := r.in.counters.open(ctx, r); err != nil {
		return err
	}
	if r.env.rec.file == nil {
		r.clock.Kind = r.env.perfConfig(p).Clock
		if r.in.kernel != nil {
			r.clock.Kind = perf.ClockMonotonic // of programs
		}
		r.clock.Refresh()
	}
	r.in.counters.together(r)
	r.eval, err = openEval(ctx, r)
	return err
}

// describe lists where events are attached. It is called after they were
// attached.
func (r *run) describe() {
	var lines []string
	if r.in.live != nil {
		lines = r.in.live.Describe()
	}
	if r.in.kernel != nil {
		lines = append(lines, r.in.kernel.run.Describe()...)
	}
	for _, line := range append(lines, r.in.counters.describe()...) {
		r.env.msgs.verbose(1, line)
	}
	if r.in.live != nil {
		r.env.describeSender(r.plan)
	}
}

// connect maps the streams of the sources to the streams of the plan.
func (r *run) connect() {
	var to [][]*event.Stream
	if r.in.live != nil {
		var same bool
		if to, same = mapLive(r.instance, r.in.live); !same {
			r.instance.Router.Remap = to
		}
	}
	if r.in.live == nil && len(r.env.rec.remotes) > 0 && r.env.rec.file == nil {
		c := r.env.rec.remotes[0].file.Info().Clock
		r.clock.At, r.clock.Wall = c.At, c.Wall
	}
	if len(r.env.rec.remotes) > 0 && r.env.rec.file == nil {
		r.combine(r.in.src, to)
	}
}

// prepare connects the sources with the operators.
func (r *run) prepare() {
	p, in := r.plan, r.instance
	for _, st := range in.Streams() {
		st.Comm = r.env.tasks.Of
		if p.Cgroups {
			st.Cgroup = r.env.cgroups.of
		}
	}
	if p.Comm && r.in.live != nil {
		r.env.tasks.ScanTarget(r.cfg.Target.PIDs, r.cfg.Target.TIDs)
		r.env.tasks.Scan(scanTime)
	}
	r.connect()
	r.foreignNames()
	r.stacks.read(r)
	in.Limit(r.cfg.Options.Limits.ExitN)
	if r.in.live != nil && !r.cfg.Options.Show.Self {
		in.HideSelf(int32(os.Getpid()), ownThreads())
	}
	if r.in.live != nil && !p.Pulls() { // remote threads can have the same numbers
		for _, j := range plan.Runs[*plan.JoinRun](in) {
			if j.Forgets() {
				r.in.forgetful = append(r.in.forgetful, j)
			}
		}
	}
	in.Router.Side = r.side
	switch n := r.readers(); {
	case r.in.src == nil:
	case n > 1:
		r.in.feeder = share(r.in.src, in, n)
	case len(r.env.rec.remotes) == 0 && (len(r.in.src.Rings()) == 1 && !r.in.growing() ||
		!p.Order && !r.apart()):
		// One ring is in order by itself.
		r.in.feeder = order.NewDrain(r.in.src)
	default:
		r.in.feeder = order.NewMerge(r.in.src)
	}
}

// apart reports that the events of a CPU and the records of threads' names come
// through different rings, so that the rings must always be merged by time.
func (r *run) apart() bool { return sending(r.plan) != nil && r.plan.Comm }

// readers returns the number of readers that share the rings.
func (r *run) readers() int {
	single := r.eval != nil || r.plan.InSlots || r.cfg.Options.Limits.ExitN > 0
	if r.in.live == nil || single || !r.plan.Shareable() {
		return 1
	}
	return readersFor(len(r.in.src.Rings()))
}

// side handles the records that are not samples.
func (r *run) side(e *event.Event) {
	if e.Kind == event.LostAside || e.Kind == event.Lost && e.Count == 0 {
		r.env.msgs.sayOnce("records about processes were lost, no events: names of threads and functions " +
			"may be missing; a larger -m gives them room")
	}
	r.env.tasks.Record(e)
	r.env.cgroups.record(e)
	r.stacks.record(e)
	r.results.deliveries.side(e)
	if r.plan.Watch {
		r.env.watch.Record(e)
	}
	r.in.comesOrGoes(e)
}

func (r *run) close() error {
	errs := []error{r.results.deliveries.close(), r.results.files.close(), r.stacks.close()}
	r.cfg.stage("close the events")
	errs = append(errs, r.env.endTables())
	errs = append(errs, r.in.close(), r.eval.close())
	if r.env.sender != nil {
		errs = append(errs, r.env.sender.Close())
	}
	errs = append(errs, r.env.sieves.Close())
	return errors.Join(errs...)
}
