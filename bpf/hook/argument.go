package hook

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file generates reads of the arguments of probes: numbers in registers and in the
// memory of the process, and texts there.

// Arguments reads the arguments of a probe.
type Arguments struct {
	*assembler.Code
	Hook    *Hook
	Members *Members
	// Fail is jumped to if an argument cannot be read.
	Fail assembler.Label
}

// Number reads an argument that is a number into dst.
func (e Arguments) Number(dst asm.Register, f *event.Field) {
	c, o := e.Code, f.Operand()
	switch {
	case o == nil:
		assembler.Refuse("field %s is computed of a sample", f.Name)
	case f.Kind != event.Int:
		assembler.Refuse("field %s is not a number", f.Name)
	case o.Load > 0:
		at, ok := e.Members.Operands[f.Member]
		if !ok {
			panic("BUG: field " + f.Name + " was not fetched")
		}
		c.Load(dst, at+8)
		c.IfImm(asm.JNE, dst, 0, e.Fail)
		c.Load(dst, at)
	default:
		e.Hook.Operand(dst, f.Name, o)
	}
	if o.Shift > 0 {
		c.Emit(asm.RSh.Imm(dst, int32(o.Shift)))
	}
	if o.Size > 0 {
		c.Extend(dst, 8*o.Size, o.Signed)
	}
	c.Extend(dst, 8*f.Size, f.Signed)
}

// LoadArgument writes an argument that lies in memory to a place of two words: the number, then 0
// if it could be read.
func (e Arguments) LoadArgument(to int16, f *event.Field) {
	c := e.Code
	from, ok := e.Members.Operands[f.Member]
	if !ok {
		panic("BUG: field " + f.Name + " was not fetched")
	}
	known, end := c.Label(), c.Label()
	c.Load(asm.R0, from+8)
	c.Store(to+8, asm.R0)
	c.IfImm(asm.JEq, asm.R0, 0, known)
	c.Zero(to, 8)
	c.GoTo(end)
	c.Place(known)
	e.Number(asm.R1, f)
	c.Store(to, asm.R1)
	c.Place(end)
}

// Line writes a text of the process to a place of size bytes, for output in lines: its
// length with its NUL (0 if it is not in memory), then as much of the text as fits.
func (e Arguments) Line(to int16, size int, f *event.Field) {
	c := e.Code
	end := c.Label()
	c.Zero(to, size)
	e.Hook.Operand(asm.R3, f.Name, f.Operand())
	c.Addr(asm.R1, to+8)
	c.Emit(asm.Mov.Imm(asm.R2, int32(size-8)))
	c.Call(asm.FnProbeReadUserStr)
	c.IfImm(asm.JSLE, asm.R0, 0, end)
	c.Store(to, asm.R0)
	c.Place(end)
}

// ArgumentScratch is a register into which a field can be read.
func ArgumentScratch(f *expr.Field) asm.Register {
	if f.F.Place == event.InMember && f.F.Member.OfRegister() {
		return asm.R1 // R0 is needed to add up the operand
	}
	return asm.R0
}

// Text writes a text of a probe that is no constant to off: the name of the place that was hit, or
// the text of the process to which an argument points.
func (e Arguments) Text(off int16, size int, f *event.Field) {
	c, o := e.Code, f.Operand()
	if len(o.Texts) > 0 {
		findName(e.Hook, off, size, o, e.Fail)
		return
	}
	done := c.Label()
	if o.Load > 0 {
		at := e.Members.Operands[f.Member]
		c.Load(asm.R3, at+8)
		c.IfImm(asm.JNE, asm.R3, 0, e.Fail)
		c.Load(asm.R3, at)
	} else {
		e.Hook.Operand(asm.R3, f.Name, o)
	}
	c.Zero(off, size)
	c.IfImm(asm.JEq, asm.R3, 0, done)
	c.ReadUserAt(off)
	c.Place(done)
}

// ArgumentRoom is the number of bytes that a text of a probe needs.
func ArgumentRoom(f *event.Field) int {
	switch o := f.Operand(); {
	case o == nil:
		assembler.Refuse("field %s is a text that is made in ppscript", f.Name)
	case len(o.Texts) > 0:
		return NamesRoom(o.Texts)
	case o.Constant():
		return (len(o.Text) + 8) &^ 7
	}
	return assembler.UserRoom
}

// TextAddress is the address of the text of the process that f reads, as a number field; nil if f
// is no such text.
func TextAddress(f *event.Field) *event.Field {
	o := f.Operand()
	if !IsUserText(f) || o == nil || o.Constant() || len(o.Texts) > 0 {
		return nil
	}
	at := *f
	at.Kind, at.Size = event.Int, 8
	return &at
}

// IsUserText reports that a field is an argument of a probe that points to a text of the
// process.
func IsUserText(f *event.Field) bool {
	return f.Place == event.InMember && f.Member.OfProbe() && f.Kind == event.Str
}
