package outbox

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/record/sent"
)

// Whole copies the whole record of a tracepoint, of at most most bytes, to scratch memory,
// behind size bytes of other columns. fields generates code that fills those columns and leaves
// their address in R7. R5 is then the length of all. The kernel fills the common fields only
// after the programs: Whole computes the type and the thread, and, if moment is the place of the
// event's context and not 0, the flags and the preemption count.
func (s *Outbox) Whole(size, most int, moment int16, fail assembler.Label, fields func()) {
	c, h := s.Code, s.Hook
	schema := h.Event.Schema
	if h.Kind != ebpf.TracePoint {
		panic("BUG: a whole record of a raw tracepoint")
	}
	if cut, ok := h.CallNumbers(); ok {
		s.call(size, cut, fields)
	} else {
		s.record(size, most, fail, fields)
	}
	c.Emit(asm.LoadMem(asm.R0, asm.R10, s.Members.PidTgid(), asm.Word), asm.LSh.Imm(asm.R0, 32),
		asm.Or.Imm(asm.R0, int32(schema.ID&0xffff)))
	if moment != 0 {
		// The flags and the preemption count are the two bytes behind the number of the
		// event.
		c.Load(asm.R1, moment)
		c.Emit(asm.RSh.Imm(asm.R1, sent.ContextFlags), asm.LSh.Imm(asm.R1, 48), asm.RSh.Imm(asm.R1, 32),
			asm.Or.Reg(asm.R0, asm.R1))
	}
	c.Emit(asm.StoreMem(asm.R7, int16(size), asm.R0, asm.DWord))
}

// record copies the record behind the other columns, and leaves the length of all in
// R5.
func (s *Outbox) record(size, most int, fail assembler.Label, fields func()) {
	c, h := s.Code, s.Hook
	schema := h.Event.Schema
	// The record ends behind its last dynamic part.
	length := c.Alloc(8)
	c.Emit(asm.Mov.Imm(asm.R7, int32(max(schema.Size, 8))))
	for i := range schema.Fields {
		f := &schema.Fields[i]
		if f.Place != event.DataLoc && f.Place != event.RelLoc {
			continue
		}
		h.Record(asm.R0, f.Offset, 4, false)
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 16), asm.And.Imm(asm.R0, 0xffff),
			asm.Add.Reg(asm.R0, asm.R1))
		if f.Place == event.RelLoc {
			c.Emit(asm.Add.Imm(asm.R0, int32(f.Offset)+4))
		}
		shorter := c.Label()
		c.IfReg(asm.JLE, asm.R0, asm.R7, shorter)
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
		c.Place(shorter)
	}
	c.Store(length, asm.R7)
	fields()
	c.Load(asm.R2, length)
	c.IfImm(asm.JGT, asm.R2, int32(most), fail)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, int32(size)), asm.Mov.Reg(asm.R3, asm.R6))
	c.Call(asm.FnProbeReadKernel)
	c.Load(asm.R5, length)
	c.IfImm(asm.JGT, asm.R5, int32(most), fail)
	c.Emit(asm.Add.Imm(asm.R5, int32(size)))
}

// unseen is the text for texts that programs cannot see.
const unseen = '?'

// call is record for the begin of a system call whose texts the kernel reads for perf, but not
// for programs. Programs see only its numbers, which end at cut; all texts are one "?".
func (s *Outbox) call(size, cut int, fields func()) {
	c, schema := s.Code, s.Hook.Event.Schema
	fields()
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, int32(size)), asm.Mov.Imm(asm.R2, int32(cut)),
		asm.Mov.Reg(asm.R3, asm.R6))
	c.Call(asm.FnProbeReadKernel)
	text := (max(schema.Size, cut) + 7) &^ 7
	for i := range schema.Fields {
		f, at := &schema.Fields[i], text
		switch f.Place {
		case event.RelLoc:
			at -= f.Offset + 4
		case event.DataLoc:
		default:
			continue
		}
		c.Emit(asm.StoreImm(asm.R7, int16(size+f.Offset), int64(2<<16|at), asm.Word))
	}
	c.Emit(assembler.StoreImm(asm.R7, int16(size+text), unseen), asm.Mov.Imm(asm.R5, int32(size+text+8)))
}
