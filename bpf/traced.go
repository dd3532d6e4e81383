package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

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

// traced leaves in R0 whether the thread in R0 is one of the target's; of all
// threads if nobody is named. The idle task never is.
func (c *code) traced(t *load.Target) {
	c.extend(asm.R0, 32, true)
	no, done := c.label(), c.label()
	if !t.Named() {
		c.ifImm(asm.JSLE, asm.R0, 0, no)
	} else {
		mark := c.stack
		k := c.alloc(8)
		c.store(k, asm.R0)
		c.get(load.ThreadsMap.Of(), k, no)
		c.stack = mark
	}
	c.emit(asm.Mov.Imm(asm.R0, 1))
	c.goTo(done)
	c.place(no)
	c.emit(asm.Mov.Imm(asm.R0, 0))
	c.place(done)
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
	c := newCode()
	exit, out := c.label(), c.label()
	parent, child := c.alloc(8), c.alloc(8)
	c.emit(asm.Mov.Reg(asm.R6, asm.R1))
	c.zero(child, 8)
	c.newTask(child, at)
	c.call(asm.FnGetCurrentPidTgid)
	c.store(parent, asm.R0) // its lower half is the thread
	c.get(load.ThreadsMap.Of(), parent, out)
	if !t.Workload && !t.Follow {
		c.emit(asm.LoadMem(asm.R0, asm.R6, 8, asm.DWord), asm.And.Imm(asm.R0, cloneThread))
		if len(t.PIDs) == 0 {
			c.emit(asm.Mov.Imm(asm.R0, 0)) // threads, and nobody else
		}
		c.ifImm(asm.JEq, asm.R0, 0, out)
	}
	c.put(load.ThreadsMap.Of(), child, child, ebpf.UpdateAny)
	c.goTo(exit)
	c.place(out)
	c.mapPtr(asm.R1, load.ThreadsMap.Of())
	c.addr(asm.R2, child)
	c.call(asm.FnMapDeleteElem)
	c.place(exit)
	c.emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
	im.Programs = append(im.Programs, load.Program{
		Label: "threads", Kind: ebpf.RawTracepoint, Attach: "task_newtask", Ins: c.finish(), Event: -1,
	})
}
