package outbox

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/eval"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// Texts are the texts of the process that follow a record, whose fields are at R7.
type Texts struct {
	Eval  *eval.Eval
	At    int         // offset in the record of the word that locates the texts
	Most  int         // bytes of the record with them
	Addrs []expr.Node // expressions of their addresses, for texts that are read now
	// Keeper has the texts that were read earlier, Index their indices there. Keeper is nil
	// for texts that are read now.
	Keeper *state.CallTextKeeper
	Index  []int
	// Again is the number of texts that are read again at the end of the call if they are
	// missing.
	Again   int
	Task    int16 // place of the running process and thread
	Program int   // index of the program's event
}

// Add appends the texts to the record. R5 is the length of the record, before
// and after.
//
// The length is kept in the record's memory: a number that is read from memory
// is unknown to the verifier, so that it follows each text once, not once for
// every combination of lengths before it.
func (t *Texts) Add() {
	c := t.Eval.Code
	from, to := int16(t.At), int16(t.At+4)
	most := int32(t.Most - sent.TextHead - assembler.UserRoom)
	c.Emit(asm.Add.Imm(asm.R5, 7), asm.And.Imm(asm.R5, -8),
		asm.StoreMem(asm.R7, from, asm.R5, asm.Word), asm.StoreMem(asm.R7, to, asm.R5, asm.Word))
	mark := c.Stack
	var call int16
	if t.Again > 0 {
		call = c.AllocStack(callSize(t.Again))
		c.Zero(call, callSize(t.Again))
	}
	for i := range t.Addrs {
		next := c.Label()
		if t.Keeper != nil {
			t.Keeper.Address(t.Index[i])
		} else {
			t.Eval.Num(t.Addrs[i])
		}
		c.IfImm(asm.JEq, asm.R0, 0, next)
		c.Emit(asm.LoadMem(asm.R1, asm.R7, to, asm.Word))
		c.IfImm(asm.JGT, asm.R1, most, t.Eval.Fail)
		c.Emit(asm.Mov.Reg(asm.R8, asm.R7), asm.Add.Reg(asm.R8, asm.R1),
			asm.StoreMem(asm.R8, 0, asm.R0, asm.DWord),
			asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, sent.TextHead))
		if t.Keeper != nil {
			t.Keeper.Send(t.Index[i])
		} else {
			c.ReadUser(asm.R8, sent.TextHead)
		}
		if t.Again > 0 {
			c.Emit(noteText(call, i, c.Name())...)
		}
		c.Emit(asm.StoreMem(asm.R8, 8, asm.R0, asm.DWord), asm.LoadMem(asm.R1, asm.R7, to, asm.Word),
			asm.Add.Reg(asm.R1, asm.R0), asm.Add.Imm(asm.R1, sent.TextHead+7), asm.And.Imm(asm.R1, -8),
			asm.StoreMem(asm.R7, to, asm.R1, asm.Word))
		c.Place(next)
	}
	if t.Again > 0 {
		c.Emit(keepCall(call, t.Task, t.Program, c.Name())...)
	}
	c.Stack = mark
	c.Emit(asm.LoadMem(asm.R5, asm.R7, to, asm.Word))
	c.IfImm(asm.JGT, asm.R5, int32(t.Most), t.Eval.Fail)
}
