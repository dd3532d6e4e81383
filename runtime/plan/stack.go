package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/diag"
)

// This file is about the call stacks of events: the operators that ask for them, and with
// what. A stack costs the traced program a microsecond and more, so that only
// the events are opened with it whose stack somebody reads.

// WithStack takes events with their call stack.
type WithStack struct {
	In   Stream
	Spec stack.Choice
}

// Inputs implements Stream.
func (w *WithStack) Inputs() []Stream { return []Stream{w.In} }

// Stack is the name of an event's stack among its fields.
const Stack = event.StackName

func (w *WithStack) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(w.In)
	if err != nil {
		return nil, err
	}
	for _, br := range brs {
		e := b.events[br.stream]
		if br.as != nil && br.root != nil {
			continue // a script's events: events that have a stack get it
		}
		if br.root != nil || e == nil {
			return nil, diag.Errorf(diag.Run, "stack", b.plan.streams[br.stream].Label,
				"the event is made here, it has no stack of its own").
				WithHint("ask for the stacks of the events before they are joined: join([a.stack()], [b])")
		}
		spec := w.Spec
		e.Stack = &spec
	}
	return brs, nil
}

// sourceStack is what an event string asks for.
func sourceStack(s *Source) *stack.Choice {
	if !s.Stack {
		return nil
	}
	return &stack.Choice{Kernel: true, User: true, Max: s.MaxStack, Unwind: "fp", Show: true}
}

// needStack marks the events of a branch; where events are made here, it marks all
// events that they come from.
func (b *builder) needStack(br *branch) {
	if br.root == nil {
		if e := b.events[br.stream]; e != nil && e.Stack == nil {
			e.Stack = &stack.Choice{Kernel: true, User: true, Unwind: "fp"}
		}
		return
	}
	for _, n := range Of[*JoinOp](b.plan) {
		if !n.makes(br.root) {
			continue
		}
		for _, stage := range n.stages {
			for i := range stage {
				b.needStack(&stage[i])
			}
		}
	}
}

// callReadsStack is uses for a function that stays interpreted, as to stacks.
func callReadsStack(b *builder, br *branch, call Callable) {
	r, ok := call.(reader)
	if !ok {
		return
	}
	names, _ := r.Reads()
	for _, name := range names {
		if name == Stack {
			b.needStack(br)
		}
	}
}

// readerOfStack is callReadsStack for what sees all events of a stream.
func readerOfStack(b *builder, in Stream, call any) {
	r, ok := call.(reader)
	if !ok {
		return
	}
	names, _ := r.Reads()
	brs, err := b.branchesOf(in) // known: no error
	if err != nil || !slices.Contains(names, Stack) {
		return
	}
	for i := range brs {
		b.needStack(&brs[i])
	}
}

// stacks settles what the plan needs beside the stacks themselves.
func (n *need) stacks(b *builder) {
	p := b.plan
	delete(n.Members, event.MemberCallchain) // asked for by event, not for all
	for _, e := range p.Events {
		if e.Stack == nil {
			continue
		}
		p.HasStacks = true
		n.Add(event.MemberTID, event.MemberTime)
		if e.Source.Pulled() {
			continue // the stacks come with names
		}
		if e.Stack.User {
			p.Mappings = true
		}
		if e.Stack.Dwarf() {
			n.Order("user stacks are unwound by the mappings of their time")
		}
	}
}

// carried are functions that tell the stack of the events that come on
// branches, by stream; nil if none of them was asked for its stack. Of a pair
// it is the stack of its start, as in what counts by stack.
func carried(b *builder, brs []branch) []func(e *event.Event) uint64 {
	var each []func(e *event.Event) uint64
	for i := range brs {
		fn := stackOf(b, &brs[i])
		if fn == nil {
			continue
		}
		if each == nil {
			each = make([]func(e *event.Event) uint64, len(b.plan.streams))
		}
		each[brs[i].stream] = fn
	}
	return each
}

func stackOf(b *builder, br *branch) func(e *event.Event) uint64 {
	if br.root == nil {
		return sampledStack(b, br.stream)
	}
	if f, ok := br.scope.Schema.Field(Stack); ok && f.Place == event.InSlot {
		return func(e *event.Event) uint64 { return e.Derived.Slots[f.Offset].Uint() }
	}
	for _, n := range Of[*JoinOp](b.plan) {
		if !n.makes(br.root) {
			continue
		}
		starts := map[int]func(e *event.Event) uint64{}
		for _, stage := range n.stages {
			for i := range stage {
				if fn := stackOf(b, &stage[i]); fn != nil {
					starts[stage[i].stream] = fn
				}
			}
		}
		if len(starts) > 0 {
			return func(e *event.Event) uint64 {
				if fn := starts[e.Derived.Start.Stream.Index]; fn != nil {
					return fn(e.Derived.Start)
				}
				return 0
			}
		}
	}
	return nil
}

// sampledStack is the stack that a script asked an event to be opened with.
func sampledStack(b *builder, stream int) func(e *event.Event) uint64 {
	if ev := b.events[stream]; ev == nil || ev.Stack == nil || !ev.Stack.Show {
		return nil
	}
	return func(e *event.Event) uint64 {
		if e.Stream.Members == nil {
			return 0
		}
		id, _ := e.Stream.Members.Member(e, event.MemberCallchain)
		return id
	}
}
