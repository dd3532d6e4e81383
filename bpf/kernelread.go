package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/latetext"
	"ppscript/runtime/expr"
)

// This file reads the kernel's memory for expressions. A bad address, one whose
// page is not there or that belongs to a process, is an evaluation that fails.

// kernelInt reads a number of the kernel's memory into R0.
func (e *eval) kernelInt(n *expr.KernelInt) {
	c := e.code
	size, ok := sizes[n.Size]
	if !ok {
		refuse("a number of %d bytes in the kernel's memory", n.Size)
	}
	e.num(n.Addr)
	mark := c.stack
	at := c.alloc(8)
	c.emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, int32(n.Size)))
	c.zero(at, 8)
	c.addr(asm.R1, at)
	c.call(asm.FnProbeReadKernel)
	c.ifImm(asm.JNE, asm.R0, 0, e.fail)
	c.emit(asm.LoadMem(asm.R0, asm.R10, at, size))
	if n.Signed {
		c.extend(asm.R0, 8*n.Size, true)
	}
	c.stack = mark
}

// kernelText puts a text of the kernel's memory at off, which has room for size
// bytes.
func (e *eval) kernelText(off int16, size int, n *expr.KernelText) {
	c := e.code
	done := c.label()
	mark := c.stack
	e.num(n.Addr)
	addr := c.alloc(8)
	c.store(addr, asm.R0)
	c.zero(off, size)
	c.addr(asm.R1, off)
	c.emit(asm.Mov.Imm(asm.R2, int32(n.Size+1)))
	c.load(asm.R3, addr)
	c.call(asm.FnProbeReadKernelStr)
	c.ifImm(asm.JSLT, asm.R0, 0, e.fail)
	if !n.Cut {
		c.stack = mark
		return
	}
	// One that fills the room may go on: then it ends in dots.
	c.ifImm(asm.JNE, asm.R0, int32(n.Size+1), done)
	next := c.alloc(8)
	c.zero(next, 8)
	c.load(asm.R3, addr)
	c.emit(asm.Add.Imm(asm.R3, int32(n.Size)), asm.Mov.Imm(asm.R2, 1))
	c.addr(asm.R1, next)
	c.call(asm.FnProbeReadKernel)
	c.load(asm.R1, next)
	c.ifImm(asm.JEq, asm.R1, 0, done)
	c.emit(asm.Mov.Imm(asm.R1, int32(latetext.Word("..."))),
		asm.StoreMem(asm.R10, off+int16(n.Size)-3, asm.R1, asm.Word))
	c.place(done)
	c.stack = mark
}

// taskAddr leaves the address of the running task in R0.
func (e *eval) taskAddr() { e.code.call(asm.FnGetCurrentTask) }

// traceArg reads an argument of the tracepoint into R0.
func (e *eval) traceArg(n *expr.TraceArg) {
	if e.hook.raw == nil {
		refuse("arguments of a tracepoint are known where no other field of its record is read than those " +
			"that are copies of them, from Linux 6.2 on")
	}
	e.code.emit(asm.LoadMem(asm.R0, asm.R6, int16(8*n.Index), asm.DWord))
	e.code.extend(asm.R0, 8*n.Size, n.Signed)
}

// asksArguments reports that arguments of the tracepoint are read.
func asksArguments(nodes []expr.Node) bool {
	found := false
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			_, arg := n.(*expr.TraceArg)
			found = found || arg
			return !found
		})
	}
	return found
}

// readField reads a field that stands for a read into dst; the other registers
// change.
func (e *eval) readField(dst asm.Register, read expr.Node) {
	e.num(read)
	if dst != asm.R0 {
		e.code.emit(asm.Mov.Reg(dst, asm.R0))
	}
}
