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

// Stack is the name of the field with an event's stack.
const Stack = event.StackName

func (w *WithStack) branches(b *builder) ([]branch, error) {
	brs, err := b.branchesOf(w.In)
	if err != nil {
		return nil, err
	}
	for _, br := range brs {
		e := b.events[br.stream]
		if br.as != nil && br.root != nil {
			continue // a profiler's events: those with a stack have it already
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

// callReadsStack notes the stacks that an interpreted function reads.
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

// readerOfStack notes the stacks that a reader of a stream's whole events
// reads.
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

// stacks adds the needs of naming stacks: mappings, names of threads.
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

// carried are functions that return the stack of the events on branches, by
// stream; nil if no event has a stack. For a pair it is the stack of its start,
// as when stacks are counted.
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
