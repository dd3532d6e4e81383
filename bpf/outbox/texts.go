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
	At    int         // in the record: the word that says where they are
	Most  int         // bytes of the record with them
	Addrs []expr.Node // where they are, by which they are read now
	// Keeper has them where they were read before, by Index; nil says that they are read now.
	Keeper *state.CallTextKeeper
	Index  []int
	// Again is how many of them can be missing that the end of the call reads again; 0 is none.
	Again   int
	Task    int16 // where on the stack the running task stands
	Program int   // its number
}

// Add adds them. R5 is then how long the record is, as it was before.
//
// The length is kept with the record: the verifier takes a number that is
// read back from there for unknown, so that it follows each text once, not
// once for every combination of lengths before it.
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
