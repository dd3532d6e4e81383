package bpf

import (
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file keeps the event with which a state of a fold began (fold.Spec.Begin), and
// sends it beside what the fold emits, with the event at hand. Both have all of their
// fields, since who reads them shows lines of them.

// An around is where the state of a fold keeps the event with which it began. In a record
// the two events have the same form: two heads, then the fields of both.
type around struct {
	at     int                   // in the state: the head, and then the fields
	fields map[int][]state.Field // by source; off is behind the head
	size   int                   // of the fields of any source
}

// prepareAround settles what a fold keeps, if somebody is sent it.
func (s *graph) prepareAround(f *foldOp) {
	if !f.keepsEvents() {
		return
	}
	f.around = &around{at: f.size, fields: map[int][]state.Field{}}
	for i, e := range s.sources {
		s.stepsOf(f, func(of *source, in eval.Env, _ *feed) {
			if of != e {
				return
			}
			if in.Pair != nil || in.Out != nil {
				refuse("a fold keeps events that are made of others")
			}
			if f.around.fields[i] == nil {
				f.around.save(i, e)
			}
		})
	}
	f.size += sent.AroundHead + f.around.size
}

// keepsEvents reports that somebody is sent the event with which a state began.
func (f *foldOp) keepsEvents() bool {
	return slices.ContainsFunc(f.feeds, func(to feed) bool { return to.emit != nil && to.emit.Around })
}

// save settles what is kept of the events of a source: all that their records have.
func (a *around) save(i int, e *source) {
	off := 0
	fields := []state.Field{}
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
		_, known := hook.Sizes[f.Size]
		if f.Place != event.InRaw || f.Kind == event.Int && !known ||
			f.Kind != event.Int && f.Kind != event.Str && f.Kind != event.Array {
			refuse("field %s is not at a fixed place of its record", f.Name)
		}
		sf := savedOf(&expr.Field{F: f}, i, 0)
		sf.Off = off
		off += sf.Size
		fields = append(fields, sf)
	}
	a.fields[i] = fields
	a.size = max(a.size, off)
}

// nodes are what the program of a source reads for it.
func (a *around) nodes(i int) []expr.Node {
	list := []expr.Node{tidNode, cpuNode, timeNode}
	for _, sf := range a.fields[i] {
		list = append(list, sf.Of)
	}
	return list
}

// note stores the event at hand in the memory whose address memory leaves in R7: its head
// at one place, its fields at another. stack is where on the stack the number of its stack
// stands; 0 is none.
func (a *around) note(e *eval.Eval, memory func(), head, fields int, stack int16) {
	c := e.Code
	mark := c.Stack
	context := c.Alloc(8)
	e.Members.Moment(context, true, true) // it takes all registers
	memory()
	store := func(at int) { c.Emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord)) }
	c.Emit(asm.Mov.Imm(asm.R0, int32(e.Hook.Index+1)))
	store(head + sent.AroundEvent)
	c.Load(asm.R0, e.Members.Time())
	store(head + sent.AroundTime)
	c.Load(asm.R0, e.Members.PidTgid())
	store(head + sent.AroundTask)
	c.Load(asm.R0, context)
	store(head + sent.AroundContext)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	if stack != 0 {
		c.Load(asm.R0, stack)
	}
	store(head + sent.AroundStack)
	for _, sf := range a.fields[e.Hook.Index] {
		if !sf.Text && !sf.Array {
			e.Field(asm.R0, sf.Of)
			store(fields + sf.Off)
			continue
		}
		mark := c.Stack
		at := c.Alloc(sf.Size)
		if sf.Text {
			e.Text(at, sf.Size, sf.Of)
		} else {
			e.Hook.Array(at, sf.Of.F)
		}
		for o := 0; o < sf.Size; o += 8 {
			c.Load(asm.R0, at+int16(o))
			store(fields + sf.Off + o)
		}
		c.Stack = mark
	}
	c.Stack = mark
}

// since leaves the number that says when the state began at a place of the stack.
func (o *folder) since(state int16) int16 {
	if o.fold.around == nil {
		return 0
	}
	at := o.code.Alloc(8)
	o.code.Load(asm.R1, state)
	o.code.Emit(asm.LoadMem(asm.R0, asm.R1, o.fold.Slot(o.fold.spec.Begin-1), asm.DWord))
	o.code.Store(at, asm.R0)
	return at
}

// begins keeps the event at hand if that number has changed.
func (o *folder) begins(state, before, stack int16) {
	a, c := o.fold.around, o.code
	if a == nil {
		return
	}
	same, unknown := c.Label(), c.Label()
	c.Load(asm.R1, state)
	c.Emit(asm.LoadMem(asm.R0, asm.R1, o.fold.Slot(o.fold.spec.Begin-1), asm.DWord))
	c.Load(asm.R1, before)
	c.IfReg(asm.JEq, asm.R0, asm.R1, same)
	o.eval.Fail = unknown
	a.note(o.eval, func() { c.Load(asm.R7, state) }, a.at, a.at+sent.AroundHead, stack)
	if c.Used(unknown) {
		c.GoTo(same)
		c.Place(unknown)
		c.Load(asm.R7, state)
		c.Emit(assembler.StoreImm(asm.R7, int16(a.at+sent.AroundEvent), 0))
	}
	c.Place(same)
}

// around fills memory of the CPU with what was emitted, and the two events: it is larger
// than the stack. R7 is its address.
func (s *sender) around() {
	c, r, out := s.code, s.record, s.eval.Env.Out
	a := s.fold.around
	a.note(s.eval, func() {
		mark := c.Stack
		k := c.Alloc(8)
		c.Zero(k, 8)
		c.Get(load.AroundMap.Of(s.eval.Hook.Index), k, s.eval.Fail)
		c.Stack = mark
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.Add.Imm(asm.R7, sent.HeadSize))
	}, r.around+sent.AroundHead, r.around+2*sent.AroundHead+a.size, out.Stack)
	c.Load(asm.R1, out.State)
	move := func(from, to, size int) {
		for o := 0; o < size; o += 8 {
			c.Emit(asm.LoadMem(asm.R0, asm.R1, int16(from+o), asm.DWord),
				asm.StoreMem(asm.R7, int16(to+o), asm.R0, asm.DWord))
		}
	}
	move(a.at, r.around, sent.AroundHead)
	move(a.at+sent.AroundHead, r.around+2*sent.AroundHead, a.size)
}

// aroundMaps are the memory of CPUs for such records.
func (im *Image) aroundMaps() {
	sizes := map[int]int{}
	for _, f := range im.graph.folds {
		if f.around == nil {
			continue
		}
		for _, to := range f.feeds {
			if to.emit == nil {
				continue
			}
			for i := range f.around.fields {
				sizes[i] = max(sizes[i], sent.HeadSize+to.emit.size)
			}
		}
	}
	for i := range im.graph.sources {
		if sizes[i] > 0 {
			im.define(load.AroundMap.Of(i), &ebpf.MapSpec{
				Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: uint32(sizes[i]), MaxEntries: 1,
			})
		}
	}
}

// aroundOf says where the two events are in a record.
func (im *Image) aroundOf(f *foldOp, r *record) *sent.Around {
	if !r.Around {
		return nil
	}
	out := &sent.Around{At: r.around, Room: f.around.size,
		Events: make([]*sent.Projection, len(im.graph.sources))}
	for i, fields := range f.around.fields {
		schema := im.graph.sources[i].Schema
		p := &sent.Projection{Size: max(schema.Size, 8)}
		for _, sf := range fields {
			p.Copies = append(p.Copies, sent.Copy{From: sf.Off, To: sf.Of.F.Offset, Size: sf.Of.F.Size})
			p.Size = max(p.Size, sf.Of.F.Offset+sf.Of.F.Size)
		}
		out.Events[i] = p
	}
	return out
}
