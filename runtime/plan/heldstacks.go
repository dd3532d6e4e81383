package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/flow"
)

// This file gives the stacks that folds of programs emit the numbers that they have here.

// heldStacks are the stacks of what a fold emits.
type heldStacks struct {
	instance *Instance
	slots    []int
	next     flow.Sink
}

// newHeldStacks are those of a stream; nil if it has none.
func newHeldStacks(in *Instance, st *event.Stream) *heldStacks {
	if st == nil {
		return nil
	}
	h := &heldStacks{instance: in}
	for i := range st.Schema.Fields {
		if f := &st.Schema.Fields[i]; f.Place == event.InSlot && f.Stack() {
			h.slots = append(h.slots, f.Offset)
		}
	}
	if len(h.slots) == 0 {
		return nil
	}
	return h
}

// number gives emitted events the numbers of here.
func (h *heldStacks) number(evs []*event.Event) {
	if h == nil {
		return
	}
	for _, e := range evs {
		for _, i := range h.slots {
			if held := e.Derived.Slots[i].Uint(); held != 0 {
				e.Derived.Slots[i] = event.UintOf(h.instance.Programs.Stack(held))
			}
		}
	}
}

// in puts itself in front of who takes emitted events.
func (h *heldStacks) in(next flow.Sink) flow.Sink {
	if h == nil {
		return next
	}
	return &heldStacks{h.instance, h.slots, next}
}

// Events implements flow.Sink.
func (h *heldStacks) Events(evs []*event.Event) {
	h.number(evs)
	h.next.Events(evs)
}

// Lost implements flow.Sink.
func (h *heldStacks) Lost(ring int32, count uint64, t event.Time) { h.next.Lost(ring, count, t) }

// HoldsStacks reports that folds of programs hold stacks: who asks for one later finds it.
func (in *Instance) HoldsStacks() bool {
	for _, n := range Of[*foldOp](in.Plan) {
		if n.hasStacks() && in.programsDo(n) {
			return true
		}
	}
	return false
}

// A HeldMembers tells the stack of an event that programs send beside what a fold emits.
type HeldMembers struct {
	event.Members
	Instance *Instance
}

// Member implements event.Members.
func (m *HeldMembers) Member(e *event.Event, f event.Member) (uint64, bool) {
	if f != event.MemberCallchain || e.Derived == nil || len(e.Derived.Slots) == 0 {
		return m.Members.Member(e, f)
	}
	return m.Instance.Programs.Stack(e.Derived.Slots[0].Uint()), true
}
