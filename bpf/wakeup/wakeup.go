// Package wakeup generates what tells wakeups of tasks that do not wait, so that a join
// begins nothing with them. Package bpf calls it, and evaluates the fields of the events.
package wakeup

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// A Watch notes who runs on each CPU, in a map of a join.
type Watch struct {
	*assembler.Code
	Map load.MapID
	// Value leaves in R0 what an expression is of the event at hand; CPU and TID leave in a
	// register where it happens, and to whom.
	Value    func(n expr.Node)
	CPU, TID func(to asm.Register)
}

// runsOn looks up who runs on the CPU in R0, as the task's number and 1; 0 is
// not known. It jumps to none if there is no such CPU.
func (w *Watch) runsOn(none assembler.Label) {
	k := w.Alloc(8)
	w.Store(k, asm.R0)
	w.Get(w.Map, k, none) // the key's lower half is the index
}

// Running notes that next runs on this CPU from now on.
func (w *Watch) Running(next expr.Node) {
	mark := w.Stack
	none := w.Label()
	w.CPU(asm.R0)
	w.runsOn(none)
	w.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	w.Value(next)
	w.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord))
	w.Place(none)
	w.Stack = mark
}

// Unnecessary jumps to done if the event wakes who does not wait: the running
// task, or one that runs where it is woken and had only prepared to sleep. on is that CPU;
// nil is not known.
func (w *Watch) Unnecessary(wakes, on expr.Node, done assembler.Label) {
	mark := w.Stack
	woken, waits := w.Alloc(8), w.Label()
	w.Value(wakes)
	w.Store(woken, asm.R0)
	w.TID(asm.R1)
	w.IfReg(asm.JEq, asm.R0, asm.R1, done)
	if on != nil {
		w.IfImm(asm.JSLE, asm.R0, 0, waits)
		w.Value(on)
		w.runsOn(waits)
		w.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Imm(asm.R1, 1))
		w.Load(asm.R0, woken)
		w.IfReg(asm.JEq, asm.R0, asm.R1, done)
	}
	w.Place(waits)
	w.Stack = mark
}
