package eval

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
)

// This file reads texts of the process's memory: user_string(address). A program
// reads such a text where an expression needs it, or sends it behind a compact
// record. A program cannot fetch a page that is not in memory: then the text is
// event.UserTextFault instead. If the text was to be sent at the begin of a
// system call, it is read again at the end of the call (outbox/latetext.go).

// userText writes a text of the process to off. At the begin of a system call the text may not be
// in memory yet. Then it jumps to Late; without Late it refuses, as an expression would compute
// with event.UserTextFault.
func (e *Eval) userText(off int16, size int, n *expr.Native) {
	if i, ok := e.Env.keptText(n); ok {
		e.CallTexts(e.Env.Pair.Join).Copy(i, off, size, e.Fail)
		return
	}
	if s := e.Hook.Event; e.Late == nil && s != nil && hook.BeginsCall(s.Schema) {
		assembler.Refuse("%s may come into memory during the call, and is read at its end then", n)
	}
	c := e.Code
	done := c.Label()
	e.Num(n.Args[0])
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0))
	c.Zero(off, size)
	c.IfImm(asm.JEq, asm.R3, 0, done)
	c.ReadUserAt(off)
	if e.Late != nil {
		c.Load(asm.R1, off)
		state.MissingText(c, asm.R0, asm.R1, done)
		c.GoTo(*e.Late)
	}
	c.Place(done)
}

// recordNumber reads a number at a fixed place of the record: an element of an
// array.
func (e *Eval) recordNumber(n *expr.Mem) {
	off, p, ok := expr.RecordOffset(n.Addr)
	if !ok || p != expr.Self || e.Env.Pair != nil || e.Env.Out != nil || e.Hook.Kind != ebpf.TracePoint {
		assembler.Refuse("%s has no code for the kernel", n)
	}
	e.Hook.Record(asm.R0, off, n.Size, n.Signed)
}

// CallTexts reads and writes the texts that a join keeps with threads.
func (e *Eval) CallTexts(j *Join) state.CallTextKeeper {
	return state.CallTextKeeper{Code: e.Code, Map: load.CallTextMap.Of(j.Index)}
}
