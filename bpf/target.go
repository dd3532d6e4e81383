package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// This file restricts programs to the target. They run for every task on every
// CPU, whoever they were made for, so the first thing that a program does is
// to find out whether the event is meant.

// A Target says whose events count. The code of programs compares with it, or looks
// into the sets that load keeps.
type Target = load.Target

// cloneThread is CLONE_THREAD of sched.h, a flag of task_newtask.
const cloneThread = 0x10000

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
		c := assembler.New()
		end := c.Label()
		c.Call(asm.FnGetCurrentPidTgid)
		c.Emit(asm.RSh.Imm(asm.R0, 32))
		c.MapValue(asm.R2, load.ControlMap.Of(), 0)
		c.Emit(asm.LoadMem(asm.R1, asm.R2, 8, asm.DWord))
		c.IfReg(asm.JNE, asm.R0, asm.R1, end)
		c.Emit(asm.StoreMem(asm.R2, 0, asm.R0, asm.DWord))
		c.Place(end)
		c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
		im.Programs = append(im.Programs, load.Program{Label: "workload", Kind: ebpf.RawTracepoint,
			Attach: "sched_process_exec", Ins: c.Finish(), Event: -1})
	}
	if !t.Follow {
		return
	}
	at, ok := host.Member("task_struct", "tgid")
	if !ok {
		refuse("following children needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
	}
	im.Follow = true
	c := assembler.New()
	exit := c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1), asm.LoadMem(asm.R0, asm.R6, 8, asm.DWord))
	c.Emit(asm.And.Imm(asm.R0, cloneThread))
	c.IfImm(asm.JNE, asm.R0, 0, exit)
	c.Call(asm.FnGetCurrentPidTgid)
	c.Tasks(t, exit)
	k := c.Alloc(8)
	c.NewTask(k, at)
	c.Put(load.ProcessesMap.Of(), k, k, ebpf.UpdateAny)
	c.Place(exit)
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	im.Programs = append(im.Programs, load.Program{
		Label: "children", Kind: ebpf.RawTracepoint, Attach: "task_newtask", Ins: c.Finish(), Event: -1,
	})
}
