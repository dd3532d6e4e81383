package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file restricts programs to the target. They run for every task on every
// CPU, whoever they were made for, so the first thing that a program does is
// to find out whether the event is meant.

// A Target says whose events count. The code of programs compares with it, or looks
// into the sets that load keeps.
type Target = load.Target

// tasks checks the process or thread; R0 has both.
func (c *code) tasks(t *load.Target, exit label) {
	in := c.label()
	if t.InSet() {
		// Most events are of the first process: it is compared first.
		if t.Workload && !t.Follow {
			c.emit(asm.Mov.Reg32(asm.R0, asm.R0)) // the thread alone
		} else {
			c.emit(asm.RSh.Imm(asm.R0, 32))
		}
		c.mapValue(asm.R1, load.ControlMap.Of(), 0)
		c.emit(asm.LoadMem(asm.R1, asm.R1, 0, asm.DWord))
		if t.Workload && !t.Follow {
			c.ifReg(asm.JNE, asm.R0, asm.R1, exit)
			return
		}
		c.ifReg(asm.JEq, asm.R0, asm.R1, in)
		mark := c.stack
		k := c.alloc(8)
		c.emit(asm.StoreMem(asm.R10, k, asm.R0, asm.Word))
		c.get(load.ProcessesMap.Of(), k, exit)
		c.place(in)
		c.stack = mark
		return
	}
	ids := t.PIDs
	if len(ids) > 0 {
		c.emit(asm.RSh.Imm(asm.R0, 32))
	} else {
		ids = t.TIDs
		c.emit(asm.Mov.Reg32(asm.R0, asm.R0))
	}
	if len(ids) > load.Listed*8 {
		refuse("%d threads", len(ids))
	}
	for i, id := range ids {
		if i == len(ids)-1 {
			c.ifImm(asm.JNE, asm.R0, int32(id), exit)
			break
		}
		c.ifImm(asm.JEq, asm.R0, int32(id), in)
	}
	c.place(in)
}

// cgroups checks that the running task is in one of them.
func (c *code) cgroups(t *load.Target, exit label) {
	if len(t.Cgroups) > load.Listed {
		refuse("%d cgroups", len(t.Cgroups))
	}
	in := c.label()
	for i := range t.Cgroups {
		c.mapPtr(asm.R1, load.CgroupsMap.Of())
		c.emit(asm.Mov.Imm(asm.R2, int32(i)))
		c.call(asm.FnCurrentTaskUnderCgroup)
		if i == len(t.Cgroups)-1 {
			c.ifImm(asm.JNE, asm.R0, 1, exit)
			break
		}
		c.ifImm(asm.JEq, asm.R0, 1, in)
	}
	c.place(in)
}

// cloneThread is CLONE_THREAD of sched.h, a flag of task_newtask.
const cloneThread = 0x10000

// newTask copies a number of the task that task_newtask is about, in a member
// of task_struct, to a place of the stack. R6 is the context.
func (c *code) newTask(to int16, member int) {
	c.addr(asm.R1, to)
	c.emit(asm.Mov.Imm(asm.R2, 4), asm.LoadMem(asm.R3, asm.R6, 0, asm.DWord),
		asm.Add.Imm(asm.R3, int32(member)))
	c.call(asm.FnProbeReadKernel)
}

// trackers adds the programs that keep the set of processes: the workload
// counts from its execve on, children when they are made.
func (im *Image) trackers(host *Host, t *Target) {
	if len(t.Cgroups) > 0 {
		im.define(load.CgroupsMap.Of(), &ebpf.MapSpec{
			Type: ebpf.CGroupArray, KeySize: 4, ValueSize: 4, MaxEntries: uint32(len(t.Cgroups)),
		})
	}
	if im.Asks && len(t.Cgroups) > 0 {
		// Who enters a cgroup later is found in its files.
		refuse("which threads are in a cgroup is followed outside of the kernel")
	}
	if im.Asks {
		im.threads(host, t)
		return
	}
	traced := slices.ContainsFunc(im.graph.sources, func(e *source) bool { return !e.Sampled })
	if !t.InSet() || !traced {
		return // samples come of the target alone
	}
	im.define(load.ControlMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	im.define(load.ProcessesMap.Of(), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: 1 << 14,
	})
	if t.Workload {
		c := newCode()
		end := c.label()
		c.call(asm.FnGetCurrentPidTgid)
		c.emit(asm.RSh.Imm(asm.R0, 32))
		c.mapValue(asm.R2, load.ControlMap.Of(), 0)
		c.emit(asm.LoadMem(asm.R1, asm.R2, 8, asm.DWord))
		c.ifReg(asm.JNE, asm.R0, asm.R1, end)
		c.emit(asm.StoreMem(asm.R2, 0, asm.R0, asm.DWord))
		c.place(end)
		c.emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
		im.Programs = append(im.Programs, load.Program{Label: "workload", Kind: ebpf.RawTracepoint,
			Attach: "sched_process_exec", Ins: c.finish(), Event: -1})
	}
	if !t.Follow {
		return
	}
	at, ok := host.Member("task_struct", "tgid")
	if !ok {
		refuse("following children needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
	}
	im.Follow = true
	c := newCode()
	exit := c.label()
	c.emit(asm.Mov.Reg(asm.R6, asm.R1), asm.LoadMem(asm.R0, asm.R6, 8, asm.DWord))
	c.emit(asm.And.Imm(asm.R0, cloneThread))
	c.ifImm(asm.JNE, asm.R0, 0, exit)
	c.call(asm.FnGetCurrentPidTgid)
	c.tasks(t, exit)
	k := c.alloc(8)
	c.newTask(k, at)
	c.put(load.ProcessesMap.Of(), k, k, ebpf.UpdateAny)
	c.place(exit)
	c.emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	im.Programs = append(im.Programs, load.Program{
		Label: "children", Kind: ebpf.RawTracepoint, Attach: "task_newtask", Ins: c.finish(), Event: -1,
	})
}
