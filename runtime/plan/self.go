package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
)

// This file keeps ppscript's own doings out of what it prints and sends. What
// the lines are made of, it keeps: ppscript gives its CPU to others and wakes
// them up as every process does, and their times depend on it.

// HideSelf holds back what is about the process pid, whose threads own tells.
func (in *Instance) HideSelf(pid int32, own func(e *event.Event, tid int32) bool) {
	if in.prints {
		in.Router.Self.PID, in.Router.Self.Own = pid, own
	}
}

// Hidden is how many events were held back so.
func (in *Instance) Hidden() uint64 { return in.Router.Self.HeldBack }

// tellAbout settles whom the events are about that go out of ppscript.
func tellAbout(b *builder) error {
	for _, f := range b.plan.feeds {
		if !f.prints {
			continue
		}
		f.about = make([]flow.About, len(b.plan.streams))
		for i := range f.branches {
			f.about[f.branches[i].stream] = about(b, f.branches[i])
			if _, is := f.op.(*TimelineOp); is && schedules(&f.branches[i]) {
				// A switch away from ppscript begins another thread's time.
				f.about[f.branches[i].stream] = flow.About{Whom: flow.Nobody}
			}
		}
	}
	return nil
}

// about says whom the events of a branch are about: what is made by key for
// each thread is about that thread.
func about(b *builder, br branch) flow.About {
	switch r := br.root.(type) {
	case nil:
		if e := b.events[br.stream]; e != nil && e.Source.Pulled() {
			return flow.About{Whom: flow.Nobody}
		}
	case *JoinOp:
		return r.subject(b, 0)
	case *unpairedRoot:
		return r.node.subject(b, join.SlotKey)
	case *foldOp:
		return r.subject()
	case *duringOp:
		// All spans that are split come from one join: their parts have its key.
		if j, ok := r.sides[0].root.(*JoinOp); ok && r.sides[1].over {
			return j.subject(b, 0)
		}
	}
	return flow.About{}
}

// subject is the thread that pairs are about. Pairs of a CPU are of the thread that was on it.
func (n *JoinOp) subject(b *builder, slot int) flow.About {
	var keys []*expr.Program
	for _, stage := range n.stages {
		for _, br := range stage {
			if e := b.events[br.stream]; e != nil && e.Source.Pulled() {
				return flow.About{Whom: flow.Nobody}
			}
			keys = append(keys, br.marks.key)
		}
	}
	if flow.SubjectOf(keys) != flow.Thread {
		return flow.About{}
	}
	n.about = true
	return flow.About{Whom: flow.Thread, Slot: slot}
}

// subject is whom the emitted events are about.
func (n *foldOp) subject() flow.About {
	var keys []*expr.Program
	n.spec.Key.Each(func(p *expr.Program) { keys = append(keys, p) })
	whom := flow.SubjectOf(keys)
	if whom != flow.Thread {
		return flow.About{Whom: whom}
	}
	n.spec.Subject = true
	slot := len(n.spec.Out.Schema.Fields)
	return flow.About{Whom: flow.Thread, Slot: slot}
}
