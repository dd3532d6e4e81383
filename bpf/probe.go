package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/alike"
	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/textcode"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates the arguments of probes, and keeps their programs apart.

// arguments evaluates the arguments of a probe.
type arguments struct{ *eval }

// number reads a number.
func (e arguments) number(dst asm.Register, f *event.Field) {
	c, o := e.code, f.Operand()
	switch {
	case o == nil:
		refuse("field %s is computed of a sample", f.Name)
	case f.Kind != event.Int:
		refuse("field %s is not a number", f.Name)
	case o.Load > 0:
		at, ok := e.members.Operands[f.Member]
		if !ok {
			panic("BUG: field " + f.Name + " was not fetched")
		}
		c.Load(dst, at+8)
		c.IfImm(asm.JNE, dst, 0, e.fail)
		c.Load(dst, at)
	default:
		e.hook.Operand(dst, f.Name, o)
	}
	if o.Shift > 0 {
		c.Emit(asm.RSh.Imm(dst, int32(o.Shift)))
	}
	if o.Size > 0 {
		c.Extend(dst, 8*o.Size, o.Signed)
	}
	c.Extend(dst, 8*f.Size, f.Signed)
}

// sent puts an argument that lies in memory to a place of the stack, and whether it could
// be read.
func (e arguments) sent(to int16, f *expr.Field) {
	c := e.code
	from, ok := e.members.Operands[f.F.Member]
	if !ok {
		panic("BUG: field " + f.F.Name + " was not fetched")
	}
	known, end := c.Label(), c.Label()
	c.Load(asm.R0, from+8)
	c.Store(to+8, asm.R0)
	c.IfImm(asm.JEq, asm.R0, 0, known)
	c.Zero(to, 8)
	c.GoTo(end)
	c.Place(known)
	e.field(asm.R1, f)
	c.Store(to, asm.R1)
	c.Place(end)
}

// line puts a text of the process to a place of the stack for who shows the event: its
// length with its NUL, 0 if it is not in memory, and as much of it as there is room for.
func (e arguments) line(to int16, size int, f *event.Field) {
	c := e.code
	end := c.Label()
	c.Zero(to, size)
	e.hook.Operand(asm.R3, f.Name, f.Operand())
	c.Addr(asm.R1, to+8)
	c.Emit(asm.Mov.Imm(asm.R2, int32(size-8)))
	c.Call(asm.FnProbeReadUserStr)
	c.IfImm(asm.JSLE, asm.R0, 0, end)
	c.Store(to, asm.R0)
	c.Place(end)
}

// scratchOf is a register into which a field can be read.
func scratchOf(f *expr.Field) asm.Register {
	if f.F.Place == event.InMember && f.F.Member.OfRegister() {
		return asm.R1 // R0 is for what is added up
	}
	return asm.R0
}

// textAt puts a text of a probe at off: a constant, or the text of the process
// that an argument points to.
func (e arguments) textAt(off int16, size int, f *event.Field) {
	c, o := e.code, f.Operand()
	if o.Constant() {
		e.text(off, size, &expr.Const{T: expr.Type{Kind: expr.Str}, Str: o.Text})
		return
	}
	if len(o.Texts) > 0 {
		alike.Find(e.code, off, size, o.Texts, e.hook.Index, e.fail)
		return
	}
	done := c.Label()
	if o.Load > 0 {
		at := e.members.Operands[f.Member]
		c.Load(asm.R3, at+8)
		c.IfImm(asm.JNE, asm.R3, 0, e.fail)
		c.Load(asm.R3, at)
	} else {
		e.hook.Operand(asm.R3, f.Name, o)
	}
	c.Zero(off, size)
	c.IfImm(asm.JEq, asm.R3, 0, done)
	c.Addr(asm.R1, off)
	c.ReadUser(asm.R10, off)
	c.Place(done)
}

// argumentRoom is the room that a text of a probe needs.
func argumentRoom(f *event.Field) int {
	switch o := f.Operand(); {
	case o == nil:
		refuse("field %s is a text that is made in ppscript", f.Name)
	case len(o.Texts) > 0:
		return alike.Room(o.Texts)
	case o.Constant():
		return textcode.Pad(len(o.Text) + 1)
	}
	return userRoom
}

// alone has nobody else run the program on its CPU until the end of it, which the
// function that it returns generates. Programs in user code can be preempted from 6.0
// on: another thread could come to the row that this one is about to write. Where
// preemption cannot be disabled, who comes second is left out, and counted. So are
// programs that functions of the kernel call by themselves, which the kernel counts.
func (g *gate) alone(exit label) (end func()) {
	h := g.eval.hook
	if h.Direct != nil {
		end, _ = h.Preemption()
		return end
	}
	if h.Event.Probe == nil || !h.Event.Probe.User || !h.Host.Preempted {
		return func() {}
	}
	if on, ok := h.Preemption(); ok {
		return on
	}
	c := g.code
	first := c.Label()
	at := c.Alloc(8)
	c.Zero(at, 8)
	c.Get(load.BusyMap.Of(h.Index), at, exit)
	c.Store(at, asm.R0)
	c.Emit(asm.Mov.Imm(asm.R1, 1), assembler.Exchange(asm.FetchAdd, asm.R0, asm.R1, 0))
	c.IfImm(asm.JEq, asm.R1, 0, first)
	g.count(load.StatLost)
	g.leave(at)
	c.GoTo(exit)
	c.Place(first)
	return func() { g.leave(at) }
}

// leave says that the program is done with the CPU.
func (g *gate) leave(at int16) {
	c := g.code
	c.Load(asm.R0, at)
	c.Emit(asm.Mov.Imm(asm.R1, -1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
}
