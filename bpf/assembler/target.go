package assembler

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file compares the running task, or another task, with the target: the kernel runs
// programs for every task on every CPU, not for the target alone.

// Tasks jumps to exit unless the process or the thread in R0 belongs to the
// target. R0 is the result of bpf_get_current_pid_tgid.
func (c *Code) Tasks(t *load.Target, exit Label) {
	in := c.Label()
	if t.InSet() {
		// Most events belong to the first process: it is compared first.
		if t.Workload && !t.Follow {
			c.Emit(asm.Mov.Reg32(asm.R0, asm.R0)) // the thread alone
		} else {
			c.Emit(asm.RSh.Imm(asm.R0, 32))
		}
		c.MapValue(asm.R1, load.ControlMap.Of(), 0)
		c.Emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
		if t.Workload && !t.Follow {
			c.IfReg(asm.JNE, asm.R0, asm.R1, exit)
			return
		}
		c.IfReg(asm.JEq, asm.R0, asm.R1, in)
		mark := c.Stack
		k := c.Alloc(8)
		c.Emit(asm.StoreMem(asm.R10, k, asm.R0, asm.Word))
		c.Get(load.ProcessesMap.Of(), k, exit)
		c.Place(in)
		c.Stack = mark
		return
	}
	ids := t.PIDs
	if len(ids) > 0 {
		c.Emit(asm.RSh.Imm(asm.R0, 32))
	} else {
		ids = t.TIDs
		c.Emit(asm.Mov.Reg32(asm.R0, asm.R0))
	}
	if len(ids) > load.Listed*8 {
		Refuse("%d threads", len(ids))
	}
	for i, id := range ids {
		if i == len(ids)-1 {
			c.IfImm(asm.JNE, asm.R0, int32(id), exit)
			break
		}
		c.IfImm(asm.JEq, asm.R0, int32(id), in)
	}
	c.Place(in)
}

// Cgroups jumps to exit unless the running task is in a cgroup of the target.
func (c *Code) Cgroups(t *load.Target, exit Label) {
	if len(t.Cgroups) > load.Listed {
		Refuse("%d cgroups", len(t.Cgroups))
	}
	in := c.Label()
	for i := range t.Cgroups {
		c.MapPtr(asm.R1, load.CgroupsMap.Of())
		c.Emit(asm.Mov.Imm(asm.R2, int32(i)))
		c.Call(asm.FnCurrentTaskUnderCgroup)
		if i == len(t.Cgroups)-1 {
			c.IfImm(asm.JNE, asm.R0, 1, exit)
			break
		}
		c.IfImm(asm.JEq, asm.R0, 1, in)
	}
	c.Place(in)
}

// Traced leaves 1 in R0 if the thread in R0 belongs to the target, else 0. If
// the target names nothing, all threads belong to it. The idle task never does.
func (c *Code) Traced(t *load.Target) {
	c.Extend(asm.R0, 32, true)
	no, done := c.Label(), c.Label()
	if !t.Named() {
		c.IfImm(asm.JSLE, asm.R0, 0, no)
	} else {
		mark := c.Stack
		k := c.Alloc(8)
		c.Store(k, asm.R0)
		c.Get(load.ThreadsMap.Of(), k, no)
		c.Stack = mark
	}
	c.Emit(asm.Mov.Imm(asm.R0, 1))
	c.GoTo(done)
	c.Place(no)
	c.Emit(asm.Mov.Imm(asm.R0, 0))
	c.Place(done)
}
