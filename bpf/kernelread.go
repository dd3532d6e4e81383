package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/hook"
	"ppscript/bpf/latetext"
	"ppscript/runtime/expr"
)

// This file reads the kernel's memory for expressions. A bad address, one whose
// page is not there or that belongs to a process, is an evaluation that fails.

// kernelInt reads a number of the kernel's memory into R0.
func (e *eval) kernelInt(n *expr.KernelInt) {
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

// kernelText puts a text of the kernel's memory at off, which has room for size
// bytes.
func (e *eval) kernelText(off int16, size int, n *expr.KernelText) {
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

// taskAddr leaves the address of the running task in R0.
func (e *eval) taskAddr() { e.code.Call(asm.FnGetCurrentTask) }

// traceArg reads an argument of the tracepoint into R0.
func (e *eval) traceArg(n *expr.TraceArg) {
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
