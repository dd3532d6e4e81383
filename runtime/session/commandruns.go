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
// Each run has counters of its own, which are opened while its command is held, so that each counts from
// the command's first instruction to its end. The sandbox is entered when the last run has begun: a
// command inherits the walls of the process that starts it.
//
// Tempting and wrong: a shell loop as the only command, whose counters go on. It counts the shell too.

// commandRuns counts the runs of the command.
type commandRuns struct {
	now int // from 1
	all int
}

// left reports that the command runs once more.
func (c *commandRuns) left() bool { return c.now < c.all }

// plan takes in how often the counters want the command to run.
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

// runAgain ends the counters of a run and begins the next one.
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
