package bpf

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/hook"
	"ppscript/bpf/latetext"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file reads the kernel's memory for expressions. A bad address, one whose
// page is not there or that belongs to a process, is an evaluation that fails.

// A reader reads it.
type reader struct{ *eval }

// number reads a number of the kernel's memory into R0.
func (e reader) number(n *expr.KernelInt) {
	c := e.code
	size, ok := hook.Sizes[n.Size]
	if !ok {
		refuse("a number of %d bytes in the kernel's memory", n.Size)
	}
	e.num(n.Addr)
	mark := c.Stack
	at := c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, int32(n.Size)))
	c.Zero(at, 8)
	c.Addr(asm.R1, at)
	c.Call(asm.FnProbeReadKernel)
	c.IfImm(asm.JNE, asm.R0, 0, e.fail)
	c.Emit(asm.LoadMem(asm.R0, asm.R10, at, size))
	if n.Signed {
		c.Extend(asm.R0, 8*n.Size, true)
	}
	c.Stack = mark
}

// text puts a text of the kernel's memory at off, which has room for size
// bytes.
func (e reader) text(off int16, size int, n *expr.KernelText) {
	c := e.code
	done := c.Label()
	mark := c.Stack
	e.num(n.Addr)
	addr := c.Alloc(8)
	c.Store(addr, asm.R0)
	c.Zero(off, size)
	c.Addr(asm.R1, off)
	c.Emit(asm.Mov.Imm(asm.R2, int32(n.Size+1)))
	c.Load(asm.R3, addr)
	c.Call(asm.FnProbeReadKernelStr)
	c.IfImm(asm.JSLT, asm.R0, 0, e.fail)
	if !n.Cut {
		c.Stack = mark
		return
	}
	// One that fills the room may go on: then it ends in dots.
	c.IfImm(asm.JNE, asm.R0, int32(n.Size+1), done)
	next := c.Alloc(8)
	c.Zero(next, 8)
	c.Load(asm.R3, addr)
	c.Emit(asm.Add.Imm(asm.R3, int32(n.Size)), asm.Mov.Imm(asm.R2, 1))
	c.Addr(asm.R1, next)
	c.Call(asm.FnProbeReadKernel)
	c.Load(asm.R1, next)
	c.IfImm(asm.JEq, asm.R1, 0, done)
	c.Emit(asm.Mov.Imm(asm.R1, int32(latetext.Word("..."))),
		asm.StoreMem(asm.R10, off+int16(n.Size)-3, asm.R1, asm.Word))
	c.Place(done)
	c.Stack = mark
}

// task leaves the address of the running task in R0.
func (e reader) task() { e.code.Call(asm.FnGetCurrentTask) }

// distance leaves in R0 how far the variables of a CPU lie from those of the running
// one. Where they lie is in a variable of the kernel, whose address not all kernels show;
// but a map with a value for each CPU has its values as far apart.
func (e reader) distance(n *expr.CPUDistance) {
	c := e.code
	if e.hook.Host.Function == nil {
		refuse("the variables of another CPU: this kernel does not show its types")
	}
	if _, ok := e.hook.Host.Function("bpf_map_lookup_percpu_elem"); !ok {
		refuse("the variables of another CPU: programs find them from Linux 5.19 on")
	}
	e.num(n.CPU)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.RSh.Imm(asm.R0, 31)) // it is taken as a number of 32 bits
	c.IfImm(asm.JNE, asm.R0, 0, e.fail)
	mark := c.Stack
	key, theirs := c.Alloc(8), c.Alloc(8)
	c.Zero(key, 8)
	c.MapPtr(asm.R1, load.PlaceMap.Of())
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapLookupPercpuElem)
	c.IfImm(asm.JEq, asm.R0, 0, e.fail)
	c.Store(theirs, asm.R0)
	c.Get(load.PlaceMap.Of(), key, e.fail)
	c.Load(asm.R1, theirs)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R0), asm.Mov.Reg(asm.R0, asm.R1))
	c.Stack = mark
}

// placeMap defines the map that distance asks, if a program does.
func (im *Image) placeMap() {
	id := load.PlaceMap.Of()
	for _, p := range im.Programs {
		for i := range p.Ins {
			if p.Ins[i].Reference() == id.String() {
				im.define(id, &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
				return
			}
		}
	}
}

// argument reads an argument of the tracepoint into R0.
func (e reader) argument(n *expr.TraceArg) {
	if e.hook.Raw == nil {
		refuse("arguments of a tracepoint are known where no other field of its record is read than those " +
			"that are copies of them, from Linux 6.2 on")
	}
	e.code.Emit(asm.LoadMem(asm.R0, asm.R6, int16(8*n.Index), asm.DWord))
	e.code.Extend(asm.R0, 8*n.Size, n.Signed)
}

// readField reads a field that stands for a read into dst; the other registers
// change.
func (e *eval) readField(dst asm.Register, read expr.Node) {
	e.num(read)
	if dst != asm.R0 {
		e.code.Emit(asm.Mov.Reg(dst, asm.R0))
	}
}
