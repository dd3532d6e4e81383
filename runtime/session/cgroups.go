package session

import (
	"context"
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
)

// This file tells whose events are: of which cgroup, container, pod and unit. Names of
// containers and pods are looked up beside the run, and are there when results are shown.

// cgroups are the cgroups of this machine, or of a recording. The zero value knows none.
type cgroups struct {
	table *cgroup.Table // nil unless the plan asks
	names *cgroup.Names // nil in a recording: its containers are not ours
	// aside says that samples do not tell cgroups on this kernel: processes are asked.
	aside bool
}

// open learns the cgroups that there are, if the plan asks whose events are.
func (c *cgroups) open(w *env, p *plan.Plan) (err error) {
	switch {
	case c.table != nil:
	case w.rec.file != nil && len(plan.Of[*plan.WhyOp](p)) > 0:
		c.table = cgroup.Empty() // for names of the threads in the way
	case !p.Cgroups:
	case w.rec.file != nil:
		c.table = cgroup.Empty()
	default:
		c.aside = !perf.TellsCgroups()
		if c.table, err = cgroup.Open(kernel.Roots{}); err != nil {
			return err
		}
		c.names = cgroup.OpenNames(w.cfg.Options.Names)
		c.table.Announce(c.names.See)
	}
	return nil
}

func (c *cgroups) close(msgs *messages) error {
	if c.names != nil {
		c.names.Close()
		if err := c.names.Trouble(); err != nil {
			msgs.sayOnce(err.Error())
		}
	}
	if c.table == nil {
		return nil
	}
	return c.table.Close()
}

// follows reports that the kernel shall report new cgroups.
func (c *cgroups) follows(p *plan.Plan) bool { return p.Cgroups && !c.aside }

// record takes in that a cgroup was made; false if the record is another one.
func (c *cgroups) record(e *event.Event) bool {
	if c.table == nil || e.Kind != event.Other {
		return false
	}
	made, ok := perf.DecodeCgroup(e)
	if ok {
		c.table.NoteNew(made.ID, made.Path)
	}
	return ok
}

// of tells of the cgroup of an event: of that in which it ends, of a pair.
//
// Fast path: nothing is allocated for a cgroup that is known.
func (c *cgroups) of(e *event.Event, f event.Member) (string, bool) {
	for {
		if e.Stream != nil && e.Stream.Members != nil {
			if id, ok := e.Stream.Members.Member(e, event.MemberCgroup); ok {
				return about(c.table.Of(id, e.PID, int64(e.Time)), f), true
			}
		}
		if e.Derived == nil || e.Derived.End == nil {
			break
		}
		e = e.Derived.End
	}
	facts := c.table.OfProcess(e.PID, int64(e.Time))
	if facts == nil {
		return "", false
	}
	return about(facts, f), true
}

// about is what a member tells of facts.
func about(facts *cgroup.Facts, f event.Member) string {
	switch f {
	case event.MemberContainer:
		return facts.Container
	case event.MemberPod:
		return facts.Pod
	case event.MemberUnit:
		return facts.Unit
	}
	return facts.Path
}

// show is a container or a pod as people read it.
func (c *cgroups) show(id string) (string, bool) { return c.names.Show(id) }

// watchCgroups has those told that are made while programs do the work: there are no rings
// that would tell. What it cannot see is looked up when a row has its number.
func (k *kernelRun) watchCgroups(ctx context.Context, r *run) error {
	if k.side != nil || !r.env.cgroups.follows(r.plan) {
		return nil
	}
	src, err := perf.Open(ctx, perf.Config{
		SideBand: perf.SideBand{Cgroup: true}, Members: []event.Member{}, Clock: perf.ClockMonotonic,
	})
	if err != nil {
		r.env.msgs.verbose(1, "cgroups that are made and removed again may not be known: "+err.Error())
		return nil
	}
	if err := r.in.watch.Beside(src); err != nil {
		return errors.Join(err, src.Close())
	}
	k.newCgroups = sideBandOf(src)
	return nil
}

// sayUntold says that a recording does not tell whose the events of a stream are.
func sayUntold(msgs *messages, st *event.Stream) {
	if l, ok := st.Members.(interface{ TellsCgroup() bool }); !ok || !l.TellsCgroup() {
		msgs.sayOnce("the recording does not tell in which cgroup " + st.Schema.FullName() +
			" happened: record with ppscript record --all-cgroups, or perf record --all-cgroups")
	}
}
