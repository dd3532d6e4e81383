package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/outbox"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file fills the columns of records, and sends them through the buffer of the CPU (package
// outbox) if all predicates hold. Operators that need the events themselves run in ppscript.

// A sender sends records of a program's events.
type sender struct {
	*gate
	record *record
	source *source
	fold   *foldOp // that emitted the event; nil of other events
	memory int     // place in scratch memory of a record that is too large for the stack
}

// feed generates code that sends the event, the pair, or the event that a fold
// emits, if all predicates hold.
func (s *sender) feed(f *feed) {
	c, r := s.code, s.record
	end, failed := c.Label(), c.Label()
	s.eval.Fail = failed
	s.takes(f, end)
	if r.Whole || r.FoldContext || len(r.Texts) > 0 {
		s.memory = c.AllocScratch(sent.HeadSize + r.buffer())
	}
	data := outbox.Record{Size: sent.HeadSize, Stream: s.eval.Hook.Index}
	s.number(&data)
	switch {
	case r.Whole:
		s.whole()
	case r.FoldContext:
		s.context()
		s.fill(nil)
		data.Size += r.size
	case len(r.Texts) > 0:
		at := c.Alloc(r.texts)
		c.Zero(at+int16(r.texts)-8, 8) // the fields may end in the middle of a word
		s.fill(&at)
		s.texts(at)
	default:
		data.Size += r.size
		data.At = c.Alloc(data.Size)
		at := data.At + sent.HeadSize
		s.fill(&at)
	}
	switch {
	case r.Whole || len(r.Texts) > 0:
		data.Length, data.Most = c.Alloc(8), r.buffer()
		c.Store(data.Length, asm.R5)
	case r.FoldContext:
		data.Length = c.Alloc(8)
		c.Zero(data.Length, 8)
	}
	s.send(&data)
	c.GoTo(end)
	c.Place(failed)
	s.count(load.StatErrors)
	c.Place(end)
}

// number settles the number under which a record is sent. For a pair, it also copies the
// waiting fields that only records need.
func (s *sender) number(data *outbox.Record) {
	r, p := s.record, s.eval.Env.Pair
	switch {
	case r.pair:
		data.Stream = r.stream
		if p.Later != nil {
			p.Later()
		}
		if n := r.numbers; n != nil {
			start := int16(0)
			if place := waits(sent.Function, p.Start, true); p.Join.Waits.At(p.Start, &place.Column) >= 0 {
				start = p.Waited(&place.Column)
			}
			data.Number = n.Find(s.eval.Hook, start, s.eval.Fail)
		}
	case r.emitted:
		data.Stream = r.stream
	case len(s.source.serves) > 1:
		data.Number = hook.HitEvent(s.eval.Hook)
	}
}

// send completes a record and sends it. It overwrites R7 to R9.
func (g *gate) send(r *outbox.Record) { g.outbox().Send(r) }

func (g *gate) outbox() *outbox.Outbox {
	return &outbox.Outbox{Code: g.code, Hook: g.eval.Hook, Members: g.eval.Members}
}

// fill fills the columns of a record at a place of the stack; if at is nil, in
// the memory at R7.
func (s *sender) fill(at *int16) {
	c, r := s.code, s.record
	m := moment{flags: true, count: true}
	if p := s.eval.Env.Pair; r.pair {
		m.flags = r.Context && p.End == (eval.Env{})
	}
	start := 0 // of a pair: the offset of its start's context
	for i := range r.columns {
		col := &r.columns[i]
		if from, ok := s.stands(col); ok {
			for o := 0; o < col.Size; o += 8 {
				c.Load(asm.R0, from+int16(o))
				if at == nil {
					c.Emit(asm.StoreMem(asm.R7, int16(col.Off+o), asm.R0, asm.DWord))
				} else {
					c.Store(*at+int16(col.Off+o), asm.R0)
				}
			}
		} else {
			s.column(*at+int16(col.Off), col, m)
		}
		switch {
		case col.Origin != sent.Context || !r.pair:
		case col.Part == expr.Start:
			start = col.Off
		case r.Context && s.eval.Env.Pair.Join.Late[s.eval.Env.Pair.Start]:
			from, to := *at+int16(col.Off)+sent.ContextPreempt/8, *at+int16(start)+sent.ContextPreempt/8
			c.LoadPart(asm.R0, from, asm.Byte)
			c.StorePart(to, asm.R0, asm.Byte)
		}
	}
}

// stands returns where on the stack the words of a column are already: values that a join or a
// fold computed, and fields that waited with the start of a pair. ok is false for columns of the
// event at hand.
func (s *sender) stands(col *sent.Column) (at int16, ok bool) {
	p, out := s.eval.Env.Pair, s.eval.Env.Out
	switch {
	case s.record.emitted && col.Origin == sent.Key:
		return out.Key, true
	case s.record.emitted:
		return out.Places[col.Of.F.Offset], true
	case !s.record.pair:
		return 0, false
	}
	switch col.Origin {
	case sent.Delay:
		return p.Delay, true
	case sent.Time:
		return p.Now, true
	case sent.Node, sent.Depth, sent.SelfTime:
		return p.Call[col.Slot], true
	case sent.Field:
		if form := col.Form; col.Part != expr.Start || form == sent.Number || form == sent.Text {
			return 0, false
		}
		own := *col
		own.Of = &expr.Field{F: col.Of.F, View: col.Of.View}
		return p.Waited(&own), true
	}
	if col.Part == expr.Start {
		return p.Waited(col), true
	}
	return 0, false
}

// moment describes the values of the event at hand that are on the stack already: the places of
// its context and of its stack's hash, 0 if not there. flags and count say whether its context
// includes the flags and the preemption count.
type moment struct {
	context, hash int16
	flags, count  bool
}

// column puts a column of the event at hand to a place of the stack.
func (g *gate) column(at int16, col *sent.Column, m moment) {
	c, e := g.code, g.eval
	switch {
	case col.Origin == sent.Task:
		c.Load(asm.R0, e.Members.PidTgid())
		c.Store(at, asm.R0)
	case col.Origin == sent.Function:
		hook.HitPlace(e.Hook, at)
	case col.Origin == sent.Stack && m.hash != 0:
		for i := int16(0); i < load.StackKey; i += 8 {
			c.Load(asm.R0, m.hash+i)
			c.Store(at+i, asm.R0)
		}
	case col.Origin == sent.Stack:
		g.stack(at, e.Hook.Event.Stack)
	case col.Origin == sent.Context && m.context != 0:
		c.Load(asm.R0, m.context)
		c.Store(at, asm.R0)
	case col.Origin == sent.Context:
		e.Members.Moment(at, m.flags, m.count)
	case col.Form == sent.Located:
		e.Hook.Located(at, col.Size, col.Of.F)
	case col.Form == sent.Array:
		e.Hook.Array(at, col.Of.F)
	case col.Form == sent.Text:
		e.Text(at, col.Size, col.Of)
	case col.Form == sent.UserText:
		e.Arguments().Line(at, col.Size, col.Of.F)
	case col.Form == sent.Read:
		e.Arguments().LoadArgument(at, col.Of.F)
	default:
		in := hook.ArgumentScratch(col.Of)
		e.Field(in, col.Of)
		c.StorePart(at, in, hook.Sizes[col.Size])
	}
}

// staged writes a column of the event at hand to the stack if it cannot be written to memory
// directly. It returns the place, 0 if the column goes to memory directly.
func (g *gate) staged(col *sent.Column) (at int16) {
	h := g.eval.Hook
	switch {
	case h.Pieces(col.Of.F) != nil, col.Form == sent.Located && h.Raw == nil,
		col.Form == sent.Number && col.Of.F.Read == nil:
		return 0
	}
	at = g.code.Alloc(col.Size)
	g.column(at, col, moment{})
	return at
}

// store writes a column of the event at hand to memory, at offset to from R7: from its place on
// the stack if it is staged.
func (g *gate) store(to int, col *sent.Column, staged int16) {
	c, h := g.code, g.eval.Hook
	if staged != 0 {
		g.copied(to, staged, col.Size)
		return
	}
	if pieces := h.Pieces(col.Of.F); pieces != nil {
		for _, p := range pieces {
			h.Record(asm.R0, p.Off, p.Size, false)
			c.Emit(asm.StoreMem(asm.R7, int16(to+p.Off-col.Of.F.Offset), asm.R0, hook.Sizes[p.Size]))
		}
		return
	}
	if col.Form == sent.Located {
		h.LocatedHere(to, col.Size, col.Of.F)
		return
	}
	in := hook.ArgumentScratch(col.Of)
	g.eval.Field(in, col.Of)
	c.Emit(asm.StoreMem(asm.R7, int16(to), in, hook.Sizes[col.Size]))
}

// copied copies words of the stack to the memory at R7, at offset to.
func (g *gate) copied(to int, at int16, size int) {
	for i := 0; i < size; i += 8 {
		g.code.Load(asm.R0, at+int16(i))
		g.code.Emit(asm.StoreMem(asm.R7, int16(to+i), asm.R0, asm.DWord))
	}
}

// whole copies the event's whole record behind its other columns. R7 is then the address of all,
// R5 the length with texts.
func (s *sender) whole() {
	var at int16
	if s.record.Context {
		at = s.code.Alloc(8)
		s.eval.Members.Moment(at, true, true)
	}
	s.outbox().Whole(s.record.size, wholeMost, at, s.eval.Fail, func() {
		s.scratch()
		for i := range s.record.columns {
			mark := s.code.Stack
			col, at := &s.record.columns[i], int16(0)
			if col.Form == sent.Text {
				at = s.staged(col)
			}
			s.store(col.Off, col, at)
			s.code.Stack = mark
		}
	})
	if len(s.record.Texts) > 0 {
		s.behind(nil)
	}
}

// scratch leaves in R7 the scratch memory for records that are too large for
// the stack.
func (s *sender) scratch() {
	s.code.ScratchAddr(s.memory, s.eval.Fail)
	s.code.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.Add.Imm(asm.R7, sent.HeadSize))
}
