package session

import (
	"context"
	"errors"
	"io"
	"time"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/result"
	"ppscript/runtime/session/budget"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
	"ppscript/runtime/system/kernel"
)

// This file runs plans whose work is done inside the kernel: there are no
// events to read, only counters when an interval ends.

// sweepTime is the period in which room is made in maps that may fill up and in
// which ended processes are removed from the set of traced processes.
const sweepTime = time.Second

// A kernelRun is a plan whose work is done by programs in the kernel.
type kernelRun struct {
	plan       *placement.Kernel
	run        *load.Run
	hooks      *perf.Hooks // events that perf samples; nil if there are none
	side       *sideBand   // nil if mappings of processes are not needed
	newCgroups *sideBand   // records of new cgroups; nil if not needed
	swept      time.Time
	quiet      quiet
	rows       *collector
	gaps       uint64           // gaps of the hooks that were reported
	govern     *budget.Governor // nil without a budget
	cost       *result.Cost     // cost of the interval; nil without a budget
}

// kernelEnv returns the facts of the kernel with which the plan decides about
// programs.
func (w *env) kernelEnv() placement.Env {
	o := &w.cfg.Options
	t := placement.Env{
		Engine:        o.Reading.Engine,
		NoProjection:  w.noProjection,
		ConvertsTimes: o.Clock.Converts(),
		Intervals:     o.Interval > 0,
		Stacks:        placement.Stacks{MaxStack: stack.Most(false)},
		Idle:          w.idle,
		Hiding:        w.hiding,
		OnlyCounted:   perf.OnlyCounted,
	}
	t.KeptBytes, t.KeptCPUs = o.windowSize()
	t.BudgetRules = o.weighed()
	o.evalKernelEnv(&t)
	if t.NoProjection == "" && (o.Clock.TSC || o.Clock.KVM != "") {
		t.NoProjection = "times are converted from those of perf's own clock"
	}
	if t.Engine != placement.EngineAuto && t.Engine != placement.EngineBPF || w.rec.file != nil {
		t.HostNo = "the engine shall be perf"
		return t
	}
	host, err := features.Find(kernel.Roots{}, w.assumesRights())
	if err != nil {
		t.HostNo = err.Error()
	}
	t.Host, w.sieves.host = host, host
	t.Target, t.No = kernelTarget(&w.cfg.Target)
	switch {
	case t.No != "":
	case o.Limits.ExitN > 0:
		t.No = "the run stops at an exact number of samples"
	case o.Reading.Interpret:
		t.No = "functions shall be interpreted"
	}
	if t.No == "" {
		t.No = t.HostNo
	}
	return t
}

// assumesRights reports that a plan is only described, by a user without the rights to trace. It is
// then described as if these were there.
func (w *env) assumesRights() bool {
	if !w.events.here.Describes {
		return false
	}
	caps, err := kernel.ReadCaps(kernel.Roots{})
	if err == nil && (caps.CanTrace() || kernel.TracingIsOpen(kernel.Roots{})) {
		return false
	}
	w.msgs.noteOnce("this is how it runs with the rights to trace, which are missing here: ppscript doctor")
	return true
}

// openKernel opens the plan inside the kernel if placement chose that. It
// reports whether the plan runs there, or an error. If the kernel refuses and
// the engine is auto, the plan runs in ppscript.
func (r *run) openKernel(ctx context.Context, err *error) bool {
	k := r.plan.Kernel
	if k.Sends() {
		return false // its pairs come in rings
	}
	if k == nil {
		if no := r.plan.KernelNo; no != "" {
			r.env.msgs.verbose(2, "not in the kernel: "+no)
		}
		return false
	}
	run, e := r.env.load(k.Image)
	if e == nil {
		run.Detached = r.cfg.Closed
		kr := &kernelRun{plan: k, run: run, rows: &collector{run: r}}
		if e = kr.start(ctx, r); e == nil {
			r.in.kernel = kr
			return true
		}
		var here *errHere
		closed := errors.Join(r.env.endTables(), kr.close(), r.in.unwatch())
		if errors.As(e, &here) {
			*err = errors.Join(here.error, closed)
			return true
		}
	}
	final := r.cfg.Options.Reading.Engine == placement.EngineBPF || r.plan.OnlyKernel
	if final || r.cfg.Options.Verbose > 0 {
		r.env.sayRejected(e)
	}
	if final {
		*err = e
		return true
	}
	r.env.msgs.verbose(1, "the kernel refused the plan's programs, ppscript does their work: "+e.Error())
	r.plan = r.plan.WithoutKernel("the kernel refused the programs")
	return false
}

// errHere is an error that would occur in ppscript's engine as well.
type errHere struct{ error }

// start attaches the programs to the target. None of them counts before begin.
func (k *kernelRun) start(ctx context.Context, r *run) (err error) {
	t := &r.cfg.Target
	if err = r.in.observeTarget(*t); err != nil {
		return &errHere{err}
	}
	if r.plan.Mappings {
		k.side, err = openSideBand(ctx, t, r.env.cgroups.follows(r.plan), spoolBytes/4, r.in.watch)
		if err != nil {
			return &errHere{err}
		}
	}
	if err = k.watchCgroups(ctx, r); err != nil {
		return &errHere{err}
	}
	k.run.Places = r.env.perfConfig(r.plan).Events
	k.plan.Image.Target.Root = r.in.watch.PID()
	if err = k.run.Attach(k.plan.Image.Target); err != nil {
		return err
	}
	if err = k.hook(ctx, r); err != nil {
		return &errHere{err}
	}
	if share := r.cfg.Options.Cost.Budget; share > 0 {
		bell, e := load.Budget{Run: k.run}.Bell()
		if err = errors.Join(e, r.in.watch.Hear(bell)); err != nil {
			return err
		}
		k.govern, err = budget.Govern(share, k.run)
	}
	return err
}

// govern returns the Governor that keeps the run in its budget; nil without one.
func (r *run) govern() *budget.Governor {
	if r.in.kernel != nil {
		return r.in.kernel.govern
	}
	return r.in.slots.Governor()
}

// begin starts the counting in programs and releases a workload.
func (k *kernelRun) begin(r *run) error {
	if k == nil {
		return nil
	}
	if err := errors.Join(load.Begin(k.run), k.govern.Begin(r.cfg.Options.Cost.Started)); err != nil {
		return err
	}
	return r.in.watch.Release()
}

// hook opens the events that perf samples, with their programs.
func (k *kernelRun) hook(ctx context.Context, r *run) (err error) {
	c := r.env.perfConfig(r.plan)
	events := c.Events
	if p := r.env.sieves.interpreters; p != nil {
		if err := load.Front(k.run, p.Program().Front); err != nil {
			r.env.msgs.verbose(1, "functions of Python, Ruby and PHP have no names: "+err.Error())
		}
	}
	c.Events = nil
	for i := range events {
		if fd := k.run.Sampled(i); fd >= 0 {
			events[i].Program = fd
			c.Events = append(c.Events, events[i])
		}
	}
	if len(c.Events) == 0 {
		return nil
	}
	if c.Target.Workload != nil {
		c.Target.Workload.Openers++ // in addition to the watch
	}
	k.hooks, err = perf.OpenHooks(ctx, c)
	return err
}

func (k *kernelRun) wait(ctx context.Context, r *run, timeout time.Duration) error {
	if err := k.look(r, false); err != nil {
		return err
	}
	if err := k.newCgroups.round(r.instance.Router.Events, false); err != nil {
		return err
	}
	if k.hooks != nil {
		k.hooks.Follow()
	}
	if now := time.Now(); now.Sub(k.swept) >= k.run.NextSweep(sweepTime) {
		k.swept = now
		if err := k.run.Sweep(); err != nil {
			return err
		}
	}
	return r.in.watch.Wait(ctx, timeout)
}

// nap returns the time that the loop may sleep. Mappings of processes must be
// read while the processes exist.
func (k *kernelRun) nap() time.Duration {
	if k.side == nil {
		return idleTime
	}
	return k.quiet.nap()
}

// flushStates makes programs flush the states of their folds. Events that they sent before are
// handled first.
func flushStates(r *run, final bool) error {
	if !r.instance.Flushes() {
		return nil
	}
	programs := r.env.sender
	switch {
	case r.in.kernel != nil:
		programs = r.in.kernel.run
	case !final:
		if err := r.in.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r.feed(false)
	}
	if programs == nil {
		return nil
	}
	return r.instance.Flush(load.StatesOf(programs).Flush)
}

// stop ends the programs. Their counts can still be read.
func (k *kernelRun) stop(r *run) error {
	if err := errors.Join(k.govern.Stop(k.rows.sink()), load.End(k.run)); err != nil {
		return err
	}
	if k.hooks != nil {
		if err := k.hooks.Stop(); err != nil {
			return err
		}
	}
	if err := k.run.Stop(); err != nil {
		return err
	}
	if err := r.env.endTables(); err != nil {
		return err
	}
	if err := k.newCgroups.round(r.instance.Router.Events, true); err != nil {
		return err
	}
	return k.look(r, true)
}

func (k *kernelRun) close() error {
	var err error
	if k.hooks != nil {
		err = k.hooks.Close()
	}
	return errors.Join(err, k.run.Close(), k.side.close(), k.newCgroups.close())
}

// stats returns statistics with the places where the programs are attached.
// There are no rings.
func (k *kernelRun) stats(t *perf.Target) *perf.Stats {
	st := &perf.Stats{Mode: "cpu", Events: len(k.plan.Image.Part.Events), Opened: len(k.plan.Image.Programs)}
	if k.hooks != nil {
		st.Opened += k.hooks.Opened()
		st.Gaps = k.hooks.Gaps()
	}
	switch {
	case t.Workload != nil && !t.System:
		st.Mode = "workload"
	case len(t.PIDs) > 0:
		st.Mode = "pid"
	case len(t.TIDs) > 0:
		st.Mode = "tid"
	case len(t.Cgroups) > 0:
		st.Mode = "cgroup"
	}
	return st
}
