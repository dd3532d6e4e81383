package bpf

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file lets states of folds hold stacks as numbers, as they do natively: the program
// numbers the stack of the event before the step function runs, and keeps it under that
// number until the end. The reader of a fold's emissions asks for the stack when it sees a
// number for the first time (load.Held). Numbers of programs and of ppscript are different
// ones, so that nobody but the reader of an emitted event takes one for the other.

// stackNode is the event's stack.
var stackNode = memberNode(event.StackName, event.MemberCallchain)

// holds reports that a step function, or an event that it emits, uses the stack of the
// event.
func (s *layout) holds(f *foldOp, e *source, in eval.Env, step expr.Node) bool {
	emits := f.emitsStack(e.Stream) || f.keepsEvents() && e.Stack != nil
	if !emits && !slices.ContainsFunc(expr.UsesOf(step).Fields, func(r *expr.Field) bool {
		return r.F.Place == event.InMember && r.F.Stack()
	}) {
		return false
	}
	if in.Pair != nil || in.Out != nil {
		refuse("a fold holds the stack of an event that is made of others")
	}
	stackOf(e.Event, stackNode)
	e.stacked, s.holdsStacks = true, true
	return true
}

// emitsStack reports that emitted events have the stack of the current event in
// addition to the function's values.
func (f *foldOp) emitsStack(stream int) bool {
	return stream < len(f.spec.Stacks) && f.spec.Stacks[stream] != nil
}

// hold numbers the stack of the event, and returns the offset of the number on the
// program's stack; 0 if it is not needed.
func (o *folder) hold(feed *feed) int16 {
	if !feed.holds {
		return 0
	}
	c := o.code
	at := c.Alloc(8)
	mark := c.Stack
	key, full, done := c.Alloc(load.StackKey), c.Label(), c.Label()
	o.walk.Leave(key, stackOf(o.eval.Hook.Event, stackNode), full)
	o.walk.EmitNumber(key, full)
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Place(done)
	c.Store(at, asm.R0)
	c.Stack = mark
	return at
}

// ofHeld refuses expressions that read a stack from an emitted event.
func ofHeld(nodes ...expr.Node) { hook.RefuseHeld(nodes...) }
