package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file tells wakeups of tasks that do not wait, so that a join begins nothing with them. A map
// of the join has the task that runs on each CPU.

// runsOn looks up the task that runs on the CPU in R0, as its number and 1; 0 is not known. It jumps
// to none if there is no such CPU.
func (o *joiner) runsOn(none label) {
	c := o.code
	k := c.Alloc(8)
	c.Store(k, asm.R0)
	c.Get(load.RunningMap.Of(o.join.index), k, none) // the key's lower half is the index
}

// running notes that next runs on this CPU from now on.
func (o *joiner) running(next expr.Node) {
	c := o.code
	mark := c.Stack
	none := c.Label()
	o.eval.field(asm.R0, cpuNode)
	o.runsOn(none)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	o.eval.value(next)
	c.Emit(asm.Add.Imm(asm.R0, 1), asm.StoreMem(asm.R7, 0, asm.R0, asm.DWord))
	c.Place(none)
	c.Stack = mark
}

// unnecessary jumps to done if the event wakes a task that does not wait: the running task, or one
// that runs where it is woken and had only prepared to sleep. on is that CPU; nil is not known.
func (o *joiner) unnecessary(wakes, on expr.Node, done label) {
	c := o.code
	mark := c.Stack
	woken, waits := c.Alloc(8), c.Label()
	o.eval.value(wakes)
	c.Store(woken, asm.R0)
	o.eval.field(asm.R1, tidNode)
	c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	if on != nil {
		c.IfImm(asm.JSLE, asm.R0, 0, waits)
		o.eval.value(on)
		o.runsOn(waits)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Sub.Imm(asm.R1, 1))
		c.Load(asm.R0, woken)
		c.IfReg(asm.JEq, asm.R0, asm.R1, done)
	}
	c.Place(waits)
	c.Stack = mark
}
