package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file recognizes wakeups of tasks that do not wait, so that a join ignores them. A map of the
// join holds the task that runs on each CPU.

// wakeups recognizes unnecessary wakeups.
type wakeups struct {
	eval *eval.Eval
	runs load.MapID
	// cpu and tid are the CPU and the thread on which the event happens.
	cpu, tid *expr.Field
}

// wakeups recognizes the unnecessary wakeups of a join.
func (o *joiner) wakeups() wakeups {
	return wakeups{o.eval, load.RunningMap.Of(o.join.Index), cpuNode, tidNode}
}

// runsOn leaves in R0 the address of the number, plus 1, of the task that runs on the CPU in R0;
// the number is 0 if not known. It jumps to none if there is no such CPU.
func (w wakeups) runsOn(none label) {
	c := w.eval.Code
	k := c.Alloc(8)
	c.Store(k, asm.R0)
	c.Get(w.runs, k, none) // the key's lower half is the index
}

// running records that next runs on this CPU from now on.
func (w wakeups) running(next expr.Node) {
	c := w.eval.Code
	mark := c.Stack
	none := c.Label()
	w.eval.Field(asm.R0, w.cpu)
	w.runsOn(none)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	w.eval.Value(next)
	c.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord))
	c.Place(none)
	c.Stack = mark
}

// unnecessary jumps to done if the event wakes a task that does not wait: the running task, or one
// that runs where it is woken and had only prepared to sleep. on is the CPU on which it is woken;
// nil if not known.
func (w wakeups) unnecessary(wakes, on expr.Node, done label) {
	c := w.eval.Code
	mark := c.Stack
	woken, waits := c.Alloc(8), c.Label()
	w.eval.Value(wakes)
	c.Store(woken, asm.R0)
	w.eval.Field(asm.R1, w.tid)
	c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	if on != nil {
		c.IfImm(asm.JSLE, asm.R0, 0, waits)
		w.eval.Value(on)
		w.runsOn(waits)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Imm(asm.R1, 1))
		c.Load(asm.R0, woken)
		c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	}
	c.Place(waits)
	c.Stack = mark
}
