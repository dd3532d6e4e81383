package session

import (
	"context"
	"errors"

	"ppscript/runtime/plan"
	"ppscript/runtime/system/workload"
	"ppscript/runtime/text/diag"
)

// This file runs a command several times, one run after the other, and counts each run.
//
// Each run has its own counters. They are opened while the command is held before its
// first instruction, so they count everything from there to its end. The process enters
// its sandbox after it has started the command for the last time, because a command
// inherits the sandbox of the process that starts it.
//
// Tempting and wrong: a shell loop as the only command, with counters that continue. They
// would count the shell too.

// commandRuns counts the runs of the command.
type commandRuns struct {
	now int // the number of the current run, from 1
	all int // how many runs there are
}

// left reports whether the command has to run again after the current run.
func (c *commandRuns) left() bool { return c.now < c.all }

// plan begins the next run. For the first run it finds how often the command has to run
// and checks that the rest of the run allows that.
func (c *commandRuns) plan(sets []*plan.CounterSet, r *run) error {
	c.now++
	for _, s := range sets {
		c.all = max(c.all, s.Spec.Runs)
	}
	if c.all <= 1 || c.now > 1 {
		return nil
	}
	fail := func(hint, cause string, args ...any) error {
		return diag.Errorf(diag.Usage, "counters", "runs", cause, args...).WithHint("%s", hint)
	}
	switch {
	case r.cfg.Target.Workload == nil:
		return fail("give it: ppscript stat -r 5 -- COMMAND", "%d runs, and there is no command", c.all)
	case r.cfg.Options.Interval > 0 || len(sets) > 1 || sets[0].Spec.PeriodNS > 0:
		return fail("leave out -i and --period", "each run is one interval")
	case len(r.plan.Events) > 0:
		return fail("count alone", "other events are observed in one run")
	}
	return nil
}

// runAgain ends the counters of the current run, then starts the command again with new
// counters.
func (r *run) runAgain(ctx context.Context) error {
	c := &r.in.counters
	if err := errors.Join(c.stop(), c.close(&r.in.workload)); err != nil {
		return err
	}
	if r.in.watch != nil {
		r.in.workload.of(r.in.watch.WorkloadStatus())
	}
	if err := r.in.unwatch(); err != nil {
		return err
	}
	c.list, c.holds = nil, false
	w := r.cfg.Target.Workload
	r.cfg.Target.Workload = &workload.Command{Args: w.Args, Env: w.Env, Dir: w.Dir, Stdin: w.Stdin,
		Stdout: w.Stdout, Stderr: w.Stderr, Openers: len(plan.Of[*plan.CounterOp](r.plan))}
	if err := c.open(ctx, r); err != nil {
		return err
	}
	if !c.runs.left() {
		if err := confine(r); err != nil {
			return err
		}
	}
	return c.begin(r)
}
