package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
)

// This file keeps events about ppscript itself out of printed lines and sent
// events. Operators still get them: ppscript gives its CPU to other processes
// and wakes them up, so that their times depend on these events.

// HideSelf hides events that are about the process pid; own says whether a
// thread is one of its threads.
func (in *Instance) HideSelf(pid int32, own func(e *event.Event, tid int32) bool) {
	if in.prints {
		in.Router.Self.PID, in.Router.Self.Own = pid, own
	}
}

// Hidden counts the events that were hidden.
func (in *Instance) Hidden() uint64 { return in.Router.Self.HeldBack }

// tellAbout finds, for streams that are printed or sent, the field with the
// thread that an event is about.
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

// about returns the field with the thread that the events of a branch are
// about. For events that are made by thread it is the key.
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

// subject is the thread that pairs are about. Pairs by CPU are about the thread that ran
// there.
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

// subject is the thread that the emitted events are about.
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
