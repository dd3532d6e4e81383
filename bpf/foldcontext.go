package bpf

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file keeps the event with which a state of a fold began (fold.Spec.Begin), and
// sends it with what the fold emits, and with the event at hand. Both have all of their
// fields, since lines show them.

// A foldContext says how a fold's state keeps the event with which it began. In a sent
// record, this event and the current one have the same columns: two moments, then the fields
// of both.
type foldContext struct {
	at      int                   // in the state: the moment, and then the fields
	columns map[int][]sent.Column // by source; their places are behind the moment
	size    int                   // of the fields of any source
}

// prepareContext settles the fields that a fold keeps, if a reader gets its begin.
func (s *layout) prepareContext(f *foldOp) {
	if !f.keepsEvents() {
		return
	}
	f.context = &foldContext{at: f.size, columns: map[int][]sent.Column{}}
	for i, e := range s.sources {
		s.stepsOf(f, func(of *source, in eval.Env, _ *feed) {
			if of != e {
				return
			}
			if in.Pair != nil || in.Out != nil {
				refuse("a fold keeps events that are made of others")
			}
			if f.context.columns[i] == nil {
				f.context.save(i, e)
			}
		})
	}
	f.size += sent.MomentSize + f.context.size
}

// keepsEvents reports that a reader gets the event with which a state began.
func (f *foldOp) keepsEvents() bool {
	return slices.ContainsFunc(f.feeds, func(to feed) bool { return to.emit != nil && to.emit.FoldContext })
}

// save decides which fields of a source's events are kept: the whole record, in words.
func (a *foldContext) save(i int, e *source) {
	off := 0
	columns := []sent.Column{}
	for k := range e.Schema.Fields {
		f := &e.Schema.Fields[k]
		if f.Place == event.InSlot || strings.HasPrefix(f.Name, "common_") {
			continue
		}
		if f.Place == event.InMember && f.Member.OfRegister() {
			refuse("a fold keeps an event of a probe, whose arguments it does not keep")
		}
		if f.Place == event.InMember {
			continue
		}
		if f.Place != event.InRaw {
			refuse("field %s is not at a fixed place of its record", f.Name)
		}
		c := columnOf(&expr.Field{F: f})
		c.Off, c.Size = off, eval.Pad(c.Size)
		off += c.Size
		columns = append(columns, c)
	}
	a.columns[i] = columns
	a.size = max(a.size, off)
}

// nodes lists the expressions that a source's program evaluates for it.
func (a *foldContext) nodes(i int) []expr.Node {
	list := []expr.Node{tidNode, cpuNode, timeNode}
	for _, c := range a.columns[i] {
		list = append(list, c.Of)
	}
	return list
}

// part describes one of the two events in a record, whose columns it adds.
func (a *foldContext) part(s *layout, r *record, of expr.Part, columns *[]sent.Column) *sent.Part {
	side := int(event.Bit(of == expr.End))
	*columns = append(*columns, sent.MomentColumns(of, r.context+side*sent.MomentSize)...)
	p := &sent.Part{Inputs: make([][]sent.Column, len(s.sources))}
	for i, fields := range a.columns {
		p.Inputs[i] = sent.Moved(fields, r.context+2*sent.MomentSize+side*a.size)
	}
	return p
}

// note stores the current event in the memory whose address memory leaves in R7: its moment
// and its fields. stack is the stack offset with the number of its call stack; 0 is none.
func (a *foldContext) note(g *gate, memory func(), at, fields int, stack int16) {
	c, e := g.code, g.eval
	mark := c.Stack
	context := c.Alloc(8)
	e.Members.Moment(context, true, true) // it takes all registers
	memory()
	for _, col := range sent.MomentColumns(expr.Self, at) {
		switch col.Origin {
		case sent.Source:
			c.Emit(asm.Mov.Imm(asm.R0, int32(e.Hook.Index+1)))
		case sent.Time:
			c.Load(asm.R0, e.Members.Time())
		case sent.Task:
			c.Load(asm.R0, e.Members.PidTgid())
		case sent.Context:
			c.Load(asm.R0, context)
		case sent.StackNumber:
			c.Emit(asm.Mov.Imm(asm.R0, 0))
			if stack != 0 {
				c.Load(asm.R0, stack)
			}
		}
		c.Emit(asm.StoreMem(asm.R7, int16(col.Off), asm.R0, asm.DWord))
	}
	for i := range a.columns[e.Hook.Index] {
		mark, col := c.Stack, &a.columns[e.Hook.Index][i]
		g.store(fields+col.Off, col, g.staged(col))
		c.Stack = mark
	}
	c.Stack = mark
}

// since stores the number that says when the state began on the stack.
func (o *folder) since(state int16) int16 {
	if o.fold.context == nil {
		return 0
	}
	at := o.code.Alloc(8)
	o.code.Load(asm.R1, state)
	o.code.Emit(asm.LoadMem(asm.R0, asm.R1, o.fold.Slot(o.fold.spec.Begin-1), asm.DWord))
	o.code.Store(at, asm.R0)
	return at
}

// begins keeps the current event if that number has changed.
func (o *folder) begins(state, before, stack int16) {
	a, c := o.fold.context, o.code
	if a == nil {
		return
	}
	same, unknown := c.Label(), c.Label()
	c.Load(asm.R1, state)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, o.fold.Slot(o.fold.spec.Begin-1), asm.DWord))
	c.Load(asm.R1, before)
	c.IfReg(asm.JEq, asm.R0, asm.R1, same)
	o.eval.Fail = unknown
	a.note(o.gate, func() { c.Load(asm.R7, state) }, a.at, a.at+sent.MomentSize, stack)
	if c.Used(unknown) {
		c.GoTo(same)
		c.Place(unknown)
		c.Load(asm.R7, state)
		c.Emit(assembler.StoreImm(asm.R7, int16(a.at), 0)) // its Source
	}
	c.Place(same)
}

// context puts the two events between which an emitted one lies into memory of the CPU: they are
// larger than the stack. R7 is its address.
func (s *sender) context() {
	c, r, out := s.code, s.record, s.eval.Env.Out
	a := s.fold.context
	fields := r.context + 2*sent.MomentSize
	a.note(s.gate, s.scratch, r.context+sent.MomentSize, fields+a.size, out.Stack)
	c.Load(asm.R1, out.State)
	move := func(from, to, size int) {
		for o := 0; o < size; o += 8 {
			c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(from+o), asm.DWord),
				asm.StoreMem(asm.R7, int16(to+o), asm.R0, asm.DWord))
		}
	}
	move(a.at, r.context, sent.MomentSize)
	move(a.at+sent.MomentSize, fields, a.size)
}
