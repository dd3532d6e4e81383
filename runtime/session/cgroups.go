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

// This file finds the cgroup, container, pod and unit of an event. Names of containers
// and pods are looked up in the background while events flow, and are known when results
// are shown.

// cgroups has the cgroups of this machine, or of a recording. The zero value has
// none.
type cgroups struct {
	table *cgroup.Table // nil unless the plan asks
	names *cgroup.Names // nil in a recording: its containers are not on this machine
	// aside says that samples of this kernel have no cgroup, so that it is looked up
	// by process.
	aside bool
}

// open reads the existing cgroups, if the plan needs them.
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

// follows reports that the kernel must be asked to report new cgroups.
func (c *cgroups) follows(p *plan.Plan) bool { return p.Cgroups && !c.aside }

// record handles the record of a new cgroup; false if the record is of another
// kind.
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

// of returns the facts of an event's cgroup; for a pair, the cgroup of its end.
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

// about returns the fact that a member names.
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

// show returns the text for a container or a pod.
func (c *cgroups) show(id string) (string, bool) { return c.names.Show(id) }

// watchCgroups opens a ring for records of new cgroups while programs do the work and
// there are no other rings. A cgroup that it misses is looked up when a row has its
// number.
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

// sayUntold tells the user that a recording has no cgroups for the events of a
// stream.
func sayUntold(msgs *messages, st *event.Stream) {
	if l, ok := st.Members.(interface{ TellsCgroup() bool }); !ok || !l.TellsCgroup() {
		msgs.sayOnce("the recording does not say in which cgroup " + st.Schema.FullName() +
			" happened: record with ppscript record --all-cgroups, or perf record --all-cgroups")
	}
}
