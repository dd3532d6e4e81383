package session

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/session/cost"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// This file compares how often events occur with how many of them reach ppscript:
// --perfeval-cpus and --perfeval-pids. Counters of the run's events are opened on
// some CPUs or threads without the run's filters, and count each occurrence, which
// costs the machine time. Beside them are the events that reached ppscript: they
// passed the filters, belonged to the target, and found room. If programs keep the
// tables, it is the events that the programs accepted.
//
// Tempting and wrong: to give the counters the filters too. They would count what
// passes, which is what arrives anyway, and nothing at all where a program in the
// kernel does the filter's work.

// An eval counts on one list of CPUs, or of threads. Both sides count the same
// time: counters are read at both ends, and events outside of it are left out.
type eval struct {
	run      *run
	counters *perf.Counters
	byThread bool
	list     render.NoteField

	at    []evalPlace
	index map[int32]int // index in places, by CPU or thread
	hits  bool          // some counter counts how often its event occurred
	// other has counters that do not count events, such as ns of clocks or
	// cycles, by name, with their last values.
	other []evalOther

	local    int // number of streams of this machine, which come first
	period   evalPeriod
	reported time.Time
	exceeded bool
}

// An evalPeriod is the time in which both sides count.
type evalPeriod struct {
	from, until event.Time // on the clock of the events
	atBegin     []uint64   // by CPU: counts of programs at the begin
	stopped     bool
}

// An evalPlace is a CPU or a thread, with its counts so far and the part that
// was reported.
type evalPlace struct {
	id int
	evalCount
	reported evalCount
	base     uint64 // sum of its counters at the begin
}

type evalCount struct{ occurred, reached uint64 }

type evalOther struct {
	name        string
	n, reported uint64
}

// openEval starts the counters after everything else was opened.
func openEval(ctx context.Context, r *run) (e *eval, err error) {
	o := &r.cfg.Options
	if !o.Cost.evaluates() {
		return nil, nil
	}
	if r.in.live == nil && r.in.kernel == nil {
		return nil, diag.Errorf(diag.Usage, "option", "--perfeval-"+o.Cost.evalKind(),
			"no event of this machine is sampled that could reach ppscript").
			WithHint("leave it out, or choose a profiler that takes events; see: ppscript explain")
	}
	e = &eval{run: r, byThread: len(o.Cost.EvalPIDs) > 0, index: map[int32]int{},
		period: evalPeriod{until: math.MaxInt64}}
	cfg := r.env.perfConfig(r.plan)
	cfg.Target = perf.Target{CPUs: o.Cost.EvalCPUs}
	e.list = render.NoteField{Name: "cpus", Value: event.StrOf(kernel.FormatCPUList(o.Cost.EvalCPUs))}
	if e.byThread {
		cfg.Target = perf.Target{PIDs: o.Cost.EvalPIDs, Inherit: perf.No}
		var ids []string
		for _, pid := range o.Cost.EvalPIDs {
			ids = append(ids, strconv.Itoa(pid))
		}
		e.list = render.NoteField{Name: "pids", Value: event.StrOf(strings.Join(ids, ","))}
	}
	if r.in.live != nil {
		e.local = len(r.in.live.Streams())
	}
	if r.plan.KernelNo == evalByThread {
		r.env.msgs.say("%s: events are read instead", evalByThread)
	}
	if r.cfg.Target.Workload == nil {
		return e, e.open(ctx, cfg)
	}
	// The command waits until everything counts.
	if err = r.in.observeTarget(r.cfg.Target); err != nil {
		return nil, err
	}
	if err = e.open(ctx, cfg); err != nil {
		return e, err
	}
	return e, r.in.watch.Release()
}

func (c *Cost) evalKind() string {
	if len(c.EvalPIDs) > 0 {
		return "pids"
	}
	return "cpus"
}

// open starts the counters, and begins to count the events that reach ppscript.
func (e *eval) open(ctx context.Context, cfg perf.Config) (err error) {
	if cfg.Events, err = e.events(cfg.Events, &cfg.Target); err != nil {
		return err
	}
	if len(cfg.Events) == 0 {
		return diag.Errorf(diag.Usage, "option", "--perfeval-cpus",
			"cpus= keeps every event from these CPUs").
			WithHint("name CPUs on which an event is observed")
	}
	if e.counters, err = perf.OpenCounters(ctx, cfg); err != nil {
		return err
	}
	if err = e.read(); err != nil {
		return err
	}
	for i := range e.at {
		p := &e.at[i]
		p.base, p.occurred = p.occurred, 0
	}
	for i := range e.other {
		e.other[i].reported = e.other[i].n
	}
	if !e.run.cfg.Options.Clock.Converts() {
		e.period.from = e.moment(ctx)
	}
	if k := e.run.in.kernel; k != nil {
		if e.period.atBegin, err = k.run.CountsTaken(); err != nil {
			return err
		}
	}
	e.reported = time.Now()
	where := "CPUs " + e.list.Value.String()
	if e.byThread {
		where = fmt.Sprintf("the threads of processes %s, now %d", e.list.Value, len(e.at))
	}
	e.run.env.msgs.verbose(1, fmt.Sprintf("perfeval: counters of events: %d, on %s", len(cfg.Events), where))
	return nil
}

// events returns the run's events in the form in which they are counted: each occurrence,
// on the chosen CPUs.
func (e *eval) events(all []perf.EventConfig, t *perf.Target) (list []perf.EventConfig, err error) {
	for _, ev := range occurrences(all) {
		switch {
		case ev.CPUs == nil:
		case e.byThread:
			// Their counters have to be of one CPU each.
			if t.CPUs, err = kernel.OnlineCPUs(); err != nil {
				return nil, err
			}
		default:
			if ev.CPUs = kernel.Intersect(ev.CPUs, t.CPUs); len(ev.CPUs) == 0 {
				continue
			}
		}
		list = append(list, ev)
	}
	return list, nil
}

// occurrences returns the events of a run without its filters, so that counters count all of them.
func occurrences(all []perf.EventConfig) []perf.EventConfig {
	list := slices.Clone(all)
	for i := range list {
		list[i].Filter = ""
	}
	return list
}

// read reads the counters.
func (e *eval) read() error {
	counts, err := e.counters.Read(nil)
	if err != nil {
		return err
	}
	for i := range e.at {
		e.at[i].occurred = 0
	}
	for i := range e.other {
		e.other[i].n = 0
	}
	for _, c := range counts {
		id := c.CPU
		if e.byThread {
			id = c.TID
		}
		p := e.place(id)
		if perf.CountsHits(c.Stream.Schema) {
			p.occurred += c.Value
			e.hits = true
			continue
		}
		name := c.Stream.Label
		if perf.CountUnit(c.Stream.Schema) == event.Nanos {
			name += "_ns"
		}
		e.otherOf(name).n += c.Value
	}
	for i := range e.at {
		e.at[i].occurred -= min(e.at[i].base, e.at[i].occurred)
	}
	return nil
}

func (e *eval) place(id int) *evalPlace {
	i, ok := e.index[int32(id)]
	if !ok {
		i = len(e.at)
		e.index[int32(id)] = i
		e.at = append(e.at, evalPlace{id: id})
	}
	return &e.at[i]
}

func (e *eval) otherOf(name string) *evalOther {
	i := slices.IndexFunc(e.other, func(o evalOther) bool { return o.name == name })
	if i < 0 {
		i = len(e.other)
		e.other = append(e.other, evalOther{name: name})
	}
	return &e.other[i]
}

// evalMembers lists the sample members that are needed to count an event.
func (o *Options) evalMembers() []event.Member {
	switch {
	case len(o.Cost.EvalCPUs) > 0:
		return []event.Member{event.MemberTime, event.MemberCPU}
	case len(o.Cost.EvalPIDs) > 0:
		return []event.Member{event.MemberTime, event.MemberTID}
	}
	return nil
}

// sink returns the first receiver of events: the eval or the playback if there
// is one, else the operators.
func (r *run) sink() func([]*event.Event) {
	switch {
	case r.eval != nil:
		return r.eval.pass
	case r.playback != nil:
		return r.playback.pass
	case r.in.counters.counted != nil:
		return r.in.counters.counted.pass
	}
	return r.instance.Router.Events
}

// pass counts the events that reach ppscript and passes them on.
func (e *eval) pass(evs []*event.Event) {
	for _, ev := range evs {
		if ev.Kind != event.Sample || ev.Stream.Index >= e.local || ev.Time < e.period.from ||
			ev.Time > e.period.until {
			continue
		}
		id := ev.CPU
		if e.byThread {
			id = ev.TID
		}
		if i, ok := e.index[id]; ok {
			e.at[i].reached++
		}
	}
	e.run.instance.Router.Events(evs)
}

// update reads both counts. Events that are still in rings belong to the next
// interval. The number of events that came is read first, so that it never
// exceeds the number of events that occurred since the begin.
func (e *eval) update() error {
	if e.period.stopped {
		return nil
	}
	if k := e.run.in.kernel; k != nil {
		taken, err := k.run.CountsTaken()
		if err != nil {
			return err
		}
		for i := range e.at {
			if cpu := e.at[i].id; cpu < len(taken) {
				e.at[i].reached = taken[cpu] - e.period.atBegin[cpu]
			}
		}
	}
	return e.read()
}

// stop ends the counted time. Events in the rings still come.
func (e *eval) stop() error {
	if e == nil {
		return nil
	}
	// Of the two readings of the clock, the inner one bounds events, so that no
	// more events are counted than occurred.
	if e.period.from != 0 {
		e.period.until = e.moment(context.Background())
	}
	err := e.update()
	e.period.stopped = true
	return err
}

// moment returns a time on the clock of the events between this call and its
// return. The run's own clock is not near enough: its readings may be
// milliseconds apart on a busy machine, and in that time events reach us that no
// counter has.
func (e *eval) moment(ctx context.Context) event.Time {
	if at, _, ok := perf.ReadClock(ctx, e.run.clock.Kind); ok {
		return at
	}
	return e.run.clock.Now()
}

// report shows the counts since the last report.
func (e *eval) report(now time.Time) error {
	if err := e.update(); err != nil {
		return err
	}
	var occurred, reached uint64
	for i := range e.at {
		occurred += e.at[i].occurred - e.at[i].reported.occurred
		reached += e.at[i].reached - e.at[i].reported.reached
	}
	fields := []render.NoteField{
		{Name: "time", Value: event.StrOf(render.Date(now))},
		e.list,
		{Name: "instances", Value: event.IntOf(int64(len(e.at)))},
		{Name: "seconds", Value: event.FloatOf(math.Round(now.Sub(e.reported).Seconds()*1e3) / 1e3)},
	}
	if e.hits {
		fields = append(fields, render.NoteField{Name: "occurred", Value: event.UintOf(occurred)})
	}
	for i := range e.other {
		o := &e.other[i]
		fields = append(fields, render.NoteField{Name: o.name, Value: event.UintOf(o.n - o.reported)})
		o.reported = o.n
	}
	fields = append(fields, render.NoteField{Name: "reached", Value: event.UintOf(reached)})
	if e.exceeded {
		fields = append(fields, render.NoteField{
			Name:  "exceeds",
			Value: event.UintOf(e.run.cfg.Options.Limits.SamplingLimit),
		})
	}
	err := e.run.results.out.Note("perfeval", fields...)
	e.reported = now
	kind := "cpu"
	if e.byThread {
		kind = "tid"
	}
	for i := range e.at {
		p := &e.at[i]
		fields := []render.NoteField{{Name: kind, Value: event.IntOf(int64(p.id))}}
		if e.hits {
			fields = append(fields, render.NoteField{
				Name:  "occurred",
				Value: event.UintOf(p.occurred - p.reported.occurred),
			})
		}
		fields = append(fields, render.NoteField{
			Name:  "reached",
			Value: event.UintOf(p.reached - p.reported.reached),
		})
		if err == nil && (e.exceeded || e.run.cfg.Options.Verbose > 0) {
			err = e.run.results.out.Note("perfeval_instance", fields...)
		}
		p.reported = p.evalCount
	}
	return err
}

// senders returns the evaluated CPUs or threads for the check of rates.
func (e *eval) senders() ([]cost.Sender, error) {
	if e.run.in.kernel != nil {
		if err := e.update(); err != nil {
			return nil, err
		}
	}
	var list []cost.Sender
	for i := range e.at {
		list = append(list, cost.Sender{
			Name: cost.InstanceName(e.byThread, e.at[i].id), N: e.at[i].reached,
		})
	}
	return list, nil
}

func (e *eval) close() error {
	if e == nil || e.counters == nil {
		return nil
	}
	return e.counters.Close()
}

// evalByThread is the reason why programs do not keep the tables of a plan that is
// evaluated by thread.
const evalByThread = "programs do not count by thread, as --perfeval-pids asks"

// evalKernelEnv makes the plan's programs count the events that they accept.
func (o *Options) evalKernelEnv(t *placement.Env) {
	t.Counted = len(o.Cost.EvalCPUs) > 0
	if len(o.Cost.EvalPIDs) > 0 {
		t.NoKernel = evalByThread
	}
}
