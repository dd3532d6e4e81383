package fold

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

// This file translates the numbers of stacks in events that folds in the kernel emit,
// from the kernel's numbers to numbers of ppscript's stack table.

// HeldStacks translates the numbers of stacks in a fold's events; nil if these
// have no stacks.
type HeldStacks struct {
	number func(held uint64) uint64
	slots  []int
	next   flow.Sink
}

// NewHeldStacks returns the HeldStacks for a stream; number translates one number. It is nil if
// there is no stream.
func NewHeldStacks(st *event.Stream, number func(held uint64) uint64) *HeldStacks {
	if st == nil {
		return nil
	}
	h := &HeldStacks{number: number}
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

// Number translates the numbers of stacks in emitted events.
func (h *HeldStacks) Number(evs []*event.Event) {
	if h == nil {
		return
	}
	for _, e := range evs {
		for _, i := range h.slots {
			if held := e.Derived.Slots[i].Uint(); held != 0 {
				e.Derived.Slots[i] = event.UintOf(h.number(held))
			}
		}
	}
}

// In returns a sink that translates numbers in front of another sink.
func (h *HeldStacks) In(next flow.Sink) flow.Sink {
	if h == nil {
		return next
	}
	return &HeldStacks{h.number, h.slots, next}
}

// Events implements flow.Sink.
func (h *HeldStacks) Events(evs []*event.Event) {
	h.Number(evs)
	h.next.Events(evs)
}

// Lost implements flow.Sink.
func (h *HeldStacks) Lost(ring int32, count uint64, t event.Time) { h.next.Lost(ring, count, t) }
