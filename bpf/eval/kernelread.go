package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file generates reads of the kernel's memory for expressions. The evaluation
// fails at a bad address: an address whose page is not there, or that belongs to a
// process.

// kernelNumber reads a number of the kernel's memory into R0.
func (e *Eval) kernelNumber(n *expr.KernelInt) {
	c := e.Code
	size, ok := hook.Sizes[n.Size]
	if !ok {
		assembler.Refuse("a number of %d bytes in the kernel's memory", n.Size)
	}
	e.Num(n.Addr)
	mark := c.Stack
	at := c.Alloc(8)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, int32(n.Size)))
	c.Zero(at, 8)
	c.Addr(asm.R1, at)
	c.Call(asm.FnProbeReadKernel)
	c.IfImm(asm.JNE, asm.R0, 0, e.Fail)
	c.Emit(asm.LoadMem(asm.R0, asm.R10, at, size))
	if n.Signed {
		c.Extend(asm.R0, 8*n.Size, true)
	}
	c.Stack = mark
}

// kernelText copies a text of the kernel's memory to off, which has room for
// size bytes.
func (e *Eval) kernelText(off int16, size int, n *expr.KernelText) {
	c := e.Code
	done := c.Label()
	mark := c.Stack
	e.Num(n.Addr)
	addr := c.Alloc(8)
	c.Store(addr, asm.R0)
	c.Zero(off, size)
	c.Addr(asm.R1, off)
	c.Emit(asm.Mov.Imm(asm.R2, int32(n.Size+1)))
	c.Load(asm.R3, addr)
	c.Call(asm.FnProbeReadKernelStr)
	c.IfImm(asm.JSLT, asm.R0, 0, e.Fail)
	if !n.Cut {
		c.Stack = mark
		return
	}
	// A text that fills the room may be longer: then it ends in dots.
	c.IfImm(asm.JNE, asm.R0, int32(n.Size+1), done)
	next := c.Alloc(8)
	c.Zero(next, 8)
	c.Load(asm.R3, addr)
	c.Emit(asm.Add.Imm(asm.R3, int32(n.Size)), asm.Mov.Imm(asm.R2, 1))
	c.Addr(asm.R1, next)
	c.Call(asm.FnProbeReadKernel)
	c.Load(asm.R1, next)
	c.IfImm(asm.JEq, asm.R1, 0, done)
	c.Emit(asm.Mov.Imm(asm.R1, int32(assembler.Word("..."))))
	c.StorePart(off+int16(n.Size)-3, asm.R1, asm.Word)
	c.Place(done)
	c.Stack = mark
}

// processText copies memory of the running process to off, which has room for size bytes.
// The evaluation fails if a page is not in memory.
func (e *Eval) processText(off int16, size int, n *expr.ProcessArea) {
	c := e.Code
	done, fits := c.Label(), c.Label()
	mark := c.Stack
	from, length := c.Alloc(8), c.Alloc(8)
	e.Num(n.From)
	c.Store(from, asm.R0)
	e.Num(n.To)
	c.Load(asm.R3, from)
	c.Emit(asm.Sub.Reg(asm.R0, asm.R3))
	c.Store(length, asm.R0)
	c.Zero(off, size)
	c.Load(asm.R2, length)
	c.IfImm(asm.JLE, asm.R2, int32(n.Size), fits)
	c.Emit(asm.Mov.Imm(asm.R2, int32(n.Size)))
	c.Place(fits)
	c.Load(asm.R3, from)
	c.Addr(asm.R1, off)
	c.Call(asm.FnProbeReadUser)
	c.IfImm(asm.JNE, asm.R0, 0, e.Fail)
	blankNULs(c, off, size)
	c.Load(asm.R0, length)
	c.IfImm(asm.JLE, asm.R0, int32(n.Size), done)
	c.Emit(asm.Mov.Imm(asm.R1, int32(assembler.Word("..."))))
	c.StorePart(off+int16(n.Size)-3, asm.R1, asm.Word)
	c.Place(done)
	c.Stack = mark
}

// blankNULs replaces each NUL at off that has other bytes behind it by a blank, word by word,
// from the last to the first. R9 is all ones once a byte other than NUL has been seen.
func blankNULs(c *assembler.Code, off int16, size int) {
	const sevens, tops = 0x7f7f7f7f7f7f7f7f, -0x7f7f7f7f7f7f7f80
	c.Emit(asm.Mov.Imm(asm.R9, 0))
	c.Constant(asm.R3, sevens)
	c.Constant(asm.R4, tops)
	// nuls sets each byte of R0 to 0x80 if that byte of r is NUL, else to 0: the sum reaches
	// the top bit in every byte that has one of the lower seven bits.
	nuls := func(r asm.Register) {
		c.Emit(asm.Mov.Reg(asm.R0, r), asm.And.Reg(asm.R0, asm.R3), asm.Add.Reg(asm.R0, asm.R3),
			asm.Or.Reg(asm.R0, r), asm.Xor.Imm(asm.R0, -1), asm.And.Reg(asm.R0, asm.R4))
	}
	for i := size - 8; i >= 0; i -= 8 {
		seen := c.Label()
		at := off + int16(i)
		c.Load(asm.R1, at)
		// A byte of R2 is not NUL if that byte or one behind it is not: the text continues
		// there.
		c.Emit(asm.Mov.Reg(asm.R2, asm.R1), asm.Or.Reg(asm.R2, asm.R9))
		for _, by := range []int32{8, 16, 32} {
			c.Emit(asm.Mov.Reg(asm.R0, asm.R2), asm.RSh.Imm(asm.R0, by), asm.Or.Reg(asm.R2, asm.R0))
		}
		nuls(asm.R2)
		c.Emit(asm.Xor.Reg(asm.R0, asm.R4), asm.Mov.Reg(asm.R2, asm.R0)) // where the text continues
		nuls(asm.R1)
		c.Emit(asm.And.Reg(asm.R0, asm.R2), asm.RSh.Imm(asm.R0, 2), asm.Or.Reg(asm.R1, asm.R0))
		c.Store(at, asm.R1)
		c.IfImm(asm.JEq, asm.R1, 0, seen)
		c.Emit(asm.Mov.Imm(asm.R9, -1))
		c.Place(seen)
	}
}

// runningTask leaves the address of the running task in R0.
func (e *Eval) runningTask() { e.Code.Call(asm.FnGetCurrentTask) }

// cpuDistance leaves in R0 the distance in memory from the running CPU's variables to the
// variables of another CPU. The kernel's own variable for it (__per_cpu_offset) has an
// address that not all kernels show; but the values of a per-CPU map are the same
// distance apart.
func (e *Eval) cpuDistance(n *expr.CPUDistance) {
	c := e.Code
	if e.Hook.Host.Function == nil {
		assembler.Refuse("the variables of another CPU: this kernel does not show its types")
	}
	if _, ok := e.Hook.Host.Function("bpf_map_lookup_percpu_elem"); !ok {
		assembler.Refuse("the variables of another CPU: programs find them from Linux 5.19 on")
	}
	e.Num(n.CPU)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.RSh.Imm(asm.R0, 31)) // the helper reads 32 bits
	c.IfImm(asm.JNE, asm.R0, 0, e.Fail)
	mark := c.Stack
	key, theirs := c.Alloc(8), c.Alloc(8)
	c.Zero(key, 8)
	c.MapPtr(asm.R1, load.PlaceMap.Of())
	c.Addr(asm.R2, key)
	c.Call(asm.FnMapLookupPercpuElem)
	c.IfImm(asm.JEq, asm.R0, 0, e.Fail)
	c.Store(theirs, asm.R0)
	c.Get(load.PlaceMap.Of(), key, e.Fail)
	c.Load(asm.R1, theirs)
	c.Emit(asm.Sub.Reg(asm.R1, asm.R0), asm.Mov.Reg(asm.R0, asm.R1))
	c.Stack = mark
}

// noArguments is the reason why a program has no arguments of a tracepoint.
func noArguments(h *hook.Hook) string {
	if h.Event != nil && h.Event.Stack != nil && h.Event.Stack.Kernel {
		return "a program with the tracepoint's arguments has the kernel's stack only behind its own frames"
	}
	return "no program gets the tracepoint's arguments here: before Linux 6.2 it could interrupt itself unseen"
}

// traceArgument reads an argument of the tracepoint into R0.
func (e *Eval) traceArgument(n *expr.TraceArg) {
	if !e.Hook.Argument(asm.R0, n.Index) {
		assembler.Refuse("%s", noArguments(e.Hook))
	}
	e.Code.Extend(asm.R0, 8*n.Size, n.Signed)
}
