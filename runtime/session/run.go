package session

import (
	"context"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/flow"
	"ppscript/runtime/kernel"
	"ppscript/runtime/order"
	"ppscript/runtime/perf"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/task"
)

// scanTime bounds what reading the names of all processes may cost at start.
const scanTime = 20 * time.Millisecond

// A run is a session while it runs.
type run struct {
	env        *env
	cfg        *Config
	plan       *plan.Plan
	instance   *plan.Instance // of the plan; nil until the source is open
	src        event.Source   // nil if there are only counters
	live       *perf.Source
	kernel     *kernelRun // instead of src
	eval       *eval      // nil if nobody asked
	playback   *playback  // nil unless something depends on the time of a recording
	counters   counters
	feeder     order.Feeder
	forgetful  []*plan.JoinRun // that want to know of threads that end
	tasks      *task.Table
	clock      wallClock
	out        render.Renderer
	deliveries []delivery // by the plan's operators; nil for those without
	stacks     *runStacks
	tables     map[string]*tableFile // by path
	polled     event.Time            // when the source was polled last
	until      event.Time            // the end of the interval that is being shown; 0 if that is now
	foreign    []*event.Stream       // of events from elsewhere

	tickNo    int
	lastTick  time.Time
	lastEvent event.Time
	started   time.Time
	told      told // at the last tick
	total     event.Loss
	failed    error // what a script's function or the output said
	workload  ending
	swept     time.Time // when the set of processes was cleaned last
	patience  patience
}

// An ending is how the workload ended.
type ending struct {
	status int            // -1 if it is not over
	signal syscall.Signal // that ended it
}

// of takes the status that a source has of the workload, if it is over.
func (e *ending) of(status *os.ProcessState, over bool) {
	if over {
		e.status, e.signal = perf.ExitStatus(status)
	}
}

// Run plans, opens, runs, shows and closes. It returns when ctx ends (which is
// the orderly way to stop: results are shown), when the target ends, or when
// a limit is reached.
func Run(ctx context.Context, cfg Config) (Outcome, error) {
	opening := ctx
	if d := cfg.Options.Limits.Duration; d > 0 {
		var stop context.CancelFunc
		opening, stop = context.WithTimeout(ctx, d)
		defer stop()
	}
	wd, err := open(opening, &cfg)
	if err != nil {
		return Outcome{Status: -1}, err
	}
	files, err := fileReports(&cfg.Options, cfg.Reports)
	if err != nil {
		return Outcome{Status: -1}, errors.Join(err, wd.close())
	}
	if len(files) > 0 && cfg.Options.Show.NoLog {
		cfg.Reports = slices.DeleteFunc(slices.Clone(cfg.Reports), func(r plan.Report) bool { _, is := r.(*plan.Log); return is })
	}
	cfg.Reports = append(slices.Clip(cfg.Reports), files...)
	r := &run{env: wd, cfg: &cfg, workload: ending{status: -1}, patience: patience{ctx: ctx, msgs: wd.msgs}}
	err = errors.Join(r.do(ctx), wd.close())
	o := Outcome{Samples: r.samples(), Loss: r.total, Gaps: r.gaps(), Status: r.workload.status, Signal: r.workload.signal,
		Observed: r.src != nil || r.kernel != nil || r.counters.any()}
	if r.live != nil {
		st := r.live.Stats()
		o.Stats = &st
	}
	if r.kernel != nil {
		o.Stats = r.kernel.stats(&cfg.Target)
	}
	return o, err
}

func (r *run) samples() uint64 {
	if r.instance == nil {
		return 0
	}
	return r.instance.Router.Samples
}

func (r *run) do(ctx context.Context) (err error) {
	if r.plan, err = plan.Build(r.cfg.Reports, r.env.env(r.cfg)); err != nil {
		return err
	}
	if err = checkTarget(r.plan, &r.cfg.Target); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.openStacks()
	r.cfg.stage("open the files of results")
	if err = r.openDeliveries(ctx); err != nil {
		return err
	}
	r.cfg.stage("open the events")
	if err = r.open(ctx); err != nil {
		return err
	}
	if r.out, err = r.cfg.Output(r.wall()); err != nil {
		return err
	}
	r.prepare()
	if err = r.beginDeliveries(ctx); err != nil {
		return err
	}
	if r.src == nil && r.kernel == nil && !r.counters.any() && plan.Has[*plan.Text](r.plan) {
		return r.out.Flush()
	}
	err = r.loop(ctx)
	r.instance.Errors(func(where string, errs *flow.Errors) {
		r.env.msgs.say("%s: an evaluation failed, and left its event out: %v", where, errs.First)
	})
	if err != nil {
		return err
	}
	return r.failed
}

// wall tells the wall-clock time of events; nil if nobody knows.
func (r *run) wall() func(event.Time) time.Time {
	switch {
	case r.env.rec.file != nil && r.clock.wall.IsZero():
		return nil // the recording does not say
	case r.cfg.Options.Clock.TSC:
		return nil // cycles are no time
	}
	return r.clock.of
}

// open opens what the plan asks for.
func (r *run) open(ctx context.Context) (err error) {
	p := r.plan
	r.tasks = r.env.tasks
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
		if p, r.live, err = r.env.openLive(ctx, p); err != nil {
			return err
		}
		r.plan = p
		if err := r.findClock(ctx); err != nil {
			return err
		}
		r.src = r.convert(r.live)
		if p.Watch {
			if err := r.env.watch.begin(&r.cfg.Target); err != nil {
				return err
			}
		}
	}
	r.instance = r.plan.Instantiate()
	if r.env.rec.file != nil {
		if err := r.openRecording(); err != nil {
			return err
		}
	}
	if err := r.counters.open(ctx, r); err != nil {
		return err
	}
	if r.env.rec.file == nil {
		r.clock.clock = r.env.perfConfig(p).Clock
		if r.kernel != nil {
			r.clock.clock = perf.ClockMonotonic // of programs
		}
		r.clock.refresh()
	}
	if err := r.counters.together(r); err != nil {
		return err
	}
	return r.openEval(ctx)
}

// connect relates the streams of the sources to those of the plan.
func (r *run) connect() {
	var to [][]*event.Stream
	if r.live != nil {
		var same bool
		if to, same = mapLive(r.instance, r.live); !same {
			r.instance.Router.Remap = to
		}
	}
	if r.live == nil && len(r.env.rec.remotes) > 0 && r.env.rec.file == nil {
		c := r.env.rec.remotes[0].file.Info().Clock
		r.clock.at, r.clock.wall = c.At, c.Wall
	}
	if len(r.env.rec.remotes) > 0 && r.env.rec.file == nil {
		r.combine(r.src, to)
	}
}

// prepare connects the source with the operators.
func (r *run) prepare() {
	p, in := r.plan, r.instance
	for _, st := range in.Streams() {
		st.Comm = r.tasks.Of
	}
	if p.Comm && r.live != nil {
		r.tasks.ScanTarget(r.cfg.Target.PIDs, r.cfg.Target.TIDs)
		r.tasks.Scan(scanTime)
	}
	r.connect()
	r.foreignNames()
	if r.live != nil {
		for _, line := range r.live.Describe() {
			r.env.msgs.verbose(1, line)
		}
		r.describeSender()
	}
	r.readStacks()
	in.Limit(r.cfg.Options.Limits.ExitN)
	if r.live != nil && !r.cfg.Options.Show.Self {
		in.HideSelf(int32(os.Getpid()), ownThreads())
	}
	if r.live != nil && !p.Pulls() { // threads of other machines have numbers of their own
		for _, j := range plan.Runs[*plan.JoinRun](in) {
			if j.Forgets() {
				r.forgetful = append(r.forgetful, j)
			}
		}
	}
	in.Router.Side = r.side
	switch n := r.readers(); {
	case r.src == nil:
	case n > 1:
		r.feeder = share(r.src, in, n)
	case len(r.env.rec.remotes) == 0 && (len(r.src.Rings()) == 1 && !r.growing() || !p.Order && !r.apart()):
		// One ring is in order by itself.
		r.feeder = order.NewDrain(r.src)
	default:
		r.feeder = order.NewMerge(r.src)
	}
}

// apart reports that names come through other rings than the events of their
// CPU: then order between rings matters always.
func (r *run) apart() bool { return r.plan.Projection != nil && r.plan.Comm }

// gaps is how often a CPU came online and its first events were missed.
func (r *run) gaps() uint64 {
	var n uint64
	if r.live != nil {
		n += r.live.Gaps()
	}
	if r.kernel != nil && r.kernel.hooks != nil {
		n += r.kernel.hooks.Gaps()
	}
	return n + r.counters.gaps()
}

// growing reports that rings of other CPUs may come: those that are offline now.
func (r *run) growing() bool {
	if r.live == nil {
		return false
	}
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	return err != nil || len(cpus.Possible) > len(cpus.Online)
}

// readers is how many readers share the rings.
func (r *run) readers() int {
	if r.live == nil || r.eval != nil || r.cfg.Options.Limits.ExitN > 0 || !r.plan.Shareable() {
		return 1
	}
	return readersFor(len(r.src.Rings()))
}

// side takes the records that are not samples.
func (r *run) side(e *event.Event) {
	r.tasks.Record(e)
	r.stacks.record(e)
	for _, d := range r.deliveries {
		if s, ok := d.(sideReader); ok {
			s.side(r, e)
		}
	}
	if r.plan.Watch {
		r.env.watch.record(e)
	}
	if len(r.forgetful) > 0 {
		r.comesOrGoes(e)
	}
}

// comesOrGoes tells joins of threads that begin and end.
func (r *run) comesOrGoes(e *event.Event) {
	if e.Kind != event.Fork && e.Kind != event.Exit {
		return
	}
	if f, ok := perf.DecodeFork(e); ok {
		for _, j := range r.forgetful {
			j.Began(f.TID)
		}
	} else if x, ok := perf.DecodeExit(e); ok {
		for _, j := range r.forgetful {
			j.Ended(x.TID, e.Time)
		}
	}
}

func (r *run) close() error {
	errs := []error{r.closeDeliveries(), r.closeTableFiles(), r.stacks.close()}
	r.cfg.stage("close the events")
	errs = append(errs, r.counters.close(&r.workload))
	if r.kernel != nil {
		r.workload.of(r.kernel.watch.WorkloadStatus())
		errs = append(errs, r.kernel.close())
	}
	if r.live != nil {
		r.workload.of(r.live.WorkloadStatus())
		errs = append(errs, r.live.Close())
	}
	errs = append(errs, r.eval.close()) // which would end a command that runs
	if r.env.sender != nil {
		errs = append(errs, r.env.sender.Close())
	}
	return errors.Join(errs...)
}
