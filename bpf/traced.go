package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file answers traced(tid): whether a thread is one of the target's. Plans
// that ask are about threads that others wake and switch to, so their programs
// run for all, and the target is a set of threads: those of the beginning, and
// those that they start as far as these belong to it.

// mostThreads bounds the set.
const mostThreads = 1 << 16

// asks reports that some expression asks for threads of the target.
func (s *graph) asks() bool {
	found := false
	for i := range s.sources {
		for _, n := range s.nodes(i) {
			found = found || expr.HasNative(n, expr.AsksThreads)
		}
	}
	return found
}

// threads adds the set and the program that keeps it: who is made by one of the
// target's threads, and belongs to it, comes in; a number that is given again
// to somebody else goes out.
func (im *Image) threads(host *Host, t *Target) {
	if !t.Named() {
		return
	}
	im.define(load.ThreadsMap.Of(), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: mostThreads,
	})
	at, ok := host.Member("task_struct", "pid")
	if !ok {
		refuse("following threads needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)")
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
			c.Emit(asm.Mov.Imm(asm.R0, 0)) // threads, and nobody else
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
