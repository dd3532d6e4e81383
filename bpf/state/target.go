package state

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
)

// This file generates the programs that update the target's set of processes or
// threads.

// mostThreads bounds the set of threads.
const mostThreads = 1 << 16

// cloneThread is CLONE_THREAD of sched.h, a flag of task_newtask.
const cloneThread = 0x10000

// TrackProcesses adds the set of processes to an image, with the programs that update it. The
// workload belongs to the target from its execve on, children from their creation on.
func TrackProcesses(im *load.Image, host *features.Host, t *load.Target) {
	defineIn(im, load.ControlMap.Of(),
		&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	defineIn(im, load.ProcessesMap.Of(), &ebpf.MapSpec{
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
		// execve renames the task right behind the place where perf enables events of a command
		// (enable_on_exec). sched_process_exec is too late: another program on that tracepoint may
		// run first.
		im.Programs = append(im.Programs, load.Program{Label: "workload", Kind: ebpf.RawTracepoint,
			Attach: "task_rename", Ins: c.Finish(), Event: -1})
	}
	if !t.Follow {
		return
	}
	at, ok := host.Member("task_struct", "tgid")
	if !ok {
		assembler.Refuse("following children needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
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

// TrackThreads adds the set of threads to an image, with the program that updates it. A new thread
// is added if a thread of the target started it and it belongs to the target. A number that a
// thread outside of the target gets is removed.
func TrackThreads(im *load.Image, host *features.Host, t *load.Target) {
	if !t.Named() {
		return
	}
	defineIn(im, load.ThreadsMap.Of(), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: mostThreads,
	})
	at, ok := host.Member("task_struct", "pid")
	if !ok {
		assembler.Refuse("following threads needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
	}
	c := assembler.New()
	exit, out := c.Label(), c.Label()
	parent, child := c.Alloc(8), c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	c.Zero(child, 8)
	c.NewTask(child, at)
	c.Call(asm.FnGetCurrentPidTgid)
	c.Store(parent, asm.R0) // its lower half is the thread
	c.Get(load.ThreadsMap.Of(), parent, out)
	if !t.Workload && !t.Follow {
		c.Emit(asm.LoadMem(asm.R0, asm.R6, 8, asm.DWord), asm.And.Imm(asm.R0, cloneThread))
		if len(t.PIDs) == 0 {
			c.Emit(asm.Mov.Imm(asm.R0, 0)) // threads only, no processes
		}
		c.IfImm(asm.JEq, asm.R0, 0, out)
	}
	c.Put(load.ThreadsMap.Of(), child, child, ebpf.UpdateAny)
	c.GoTo(exit)
	c.Place(out)
	c.MapPtr(asm.R1, load.ThreadsMap.Of())
	c.Addr(asm.R2, child)
	c.Call(asm.FnMapDeleteElem)
	c.Place(exit)
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	im.Programs = append(im.Programs, load.Program{
		Label: "threads", Kind: ebpf.RawTracepoint, Attach: "task_newtask", Ins: c.Finish(), Event: -1,
	})
}

// defineIn adds a map to the image.
func defineIn(im *load.Image, id load.MapID, spec *ebpf.MapSpec) {
	im.Maps = append(im.Maps, load.Map{ID: id, Spec: spec})
}
