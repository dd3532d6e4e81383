package walk

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/stack/unwind"
)

// This file is one turn of a walk: it writes an address and goes to its caller. R6 is the
// memory of the stack, R7 the address, later the CFA, R8 the rule.

// A turn has the labels at which turns end.
type turn struct {
	frameWalker
	key      int16
	pointer  assembler.Label // no tables: by the frame pointer
	switches assembler.Label
	signal   assembler.Label
	stops    [load.WalkUnknown]assembler.Label
	on, out  assembler.Label
}

// turn generates the body of the loop.
func (w *frameWalker) turn(c *assembler.Code) {
	t := &turn{frameWalker: *w}
	t.Code = c
	t.key = c.Alloc(8)
	t.pointer, t.switches, t.signal, t.on, t.out = c.Label(), c.Label(), c.Label(), c.Label(), c.Label()
	for i := range t.stops {
		t.stops[i] = c.Label()
	}
	gone := c.Label()
	c.Zero(t.key, 8)
	c.Get(w.Memory, t.key, gone)
	c.Emit(asm.Mov.Reg(asm.R6, asm.R0))
	t.write()
	t.findRange()
	t.row()
	t.cfa()
	t.caller()
	t.bySignal()
	t.byPointer()
	for i, l := range t.stops {
		if !c.Used(l) {
			continue
		}
		c.Place(l)
		t.putImm(asm.R6, stop, int32(i))
		c.GoTo(t.out)
	}
	c.Place(t.on)
	c.Emit(asm.Mov.Imm(asm.R0, 0), asm.Return())
	c.Place(t.out)
	c.Place(gone)
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return())
}

// write writes the address, and leaves in R7 that by which it is looked for: what is returned to
// may be behind the end of its function.
func (t *turn) write() {
	c := t.Code
	t.get(asm.R7, asm.R6, pc)
	t.get(asm.R1, asm.R6, n)
	t.get(asm.R2, asm.R6, limit)
	c.IfReg(asm.JGE, asm.R1, asm.R2, t.stops[load.WalkDeep])
	c.IfImm(asm.JGE, asm.R1, int32(8*t.Room), t.stops[load.WalkDeep])
	c.Emit(asm.Mov.Reg(asm.R2, asm.R6), asm.Add.Reg(asm.R2, asm.R1),
		asm.StoreMem(asm.R2, int16(t.Words), asm.R7, asm.DWord), asm.Add.Imm(asm.R1, 8))
	t.put(asm.R6, n, asm.R1)
	t.get(asm.R1, asm.R6, called)
	c.Emit(asm.Sub.Reg(asm.R7, asm.R1))
}

// findRange finds the range of R7, and copies it.
func (t *turn) findRange() {
	c := t.Code
	known := c.Label()
	within := func(yes assembler.Label) {
		t.get(asm.R1, asm.R6, start)
		t.get(asm.R2, asm.R6, length)
		c.Emit(asm.Mov.Reg(asm.R3, asm.R7), asm.Sub.Reg(asm.R3, asm.R1))
		c.IfReg(asm.JLT, asm.R3, asm.R2, yes)
	}
	within(known)
	c.Emit(asm.Mov.Imm(asm.R8, 0))
	number := func() {
		c.Emit(asm.LoadMem(asm.R2, asm.R6, int16(t.State+rangesAt), asm.Word), asm.Add.Reg(asm.R2, asm.R1),
			asm.StoreMem(asm.R10, t.key, asm.R2, asm.Word))
	}
	for step := int32(load.MostWalkRangesOfOne / 2); step > 0; step /= 2 {
		less := c.Label()
		c.Emit(asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, step),
			asm.LoadMem(asm.R2, asm.R6, int16(t.State+rangesAt+4), asm.Word))
		c.IfReg(asm.JGE, asm.R1, asm.R2, less)
		number()
		c.Get(load.WalkRangesMap.Of(), t.key, less)
		c.Emit(asm.LoadMem(asm.R1, asm.R0, load.WalkRangeStart, asm.DWord))
		c.IfReg(asm.JGT, asm.R1, asm.R7, less)
		c.Emit(asm.Add.Imm(asm.R8, step))
		c.Place(less)
	}
	c.Emit(asm.LoadMem(asm.R2, asm.R6, int16(t.State+rangesAt+4), asm.Word))
	c.IfImm(asm.JEq, asm.R2, 0, t.stops[load.WalkNoCode])
	c.Emit(asm.Mov.Reg(asm.R1, asm.R8))
	number()
	c.Get(load.WalkRangesMap.Of(), t.key, t.stops[load.WalkNoCode])
	for _, m := range [][2]int{
		{load.WalkRangeStart, start}, {load.WalkRangeLen, length},
		{load.WalkRangeDelta, delta}, {load.WalkRangeAt, blocks},
	} {
		c.Emit(asm.LoadMem(asm.R1, asm.R0, int16(m[0]), asm.DWord))
		t.put(asm.R6, m[1], asm.R1)
	}
	within(known)
	t.putImm(asm.R6, length, 0)
	c.GoTo(t.stops[load.WalkNoCode])
	c.Place(known)
}

// row finds the rule of R7, and leaves its address in R8.
func (t *turn) row() {
	c := t.Code
	t.get(asm.R1, asm.R6, delta)
	c.Emit(asm.Sub.Reg(asm.R7, asm.R1), asm.Mov.Reg(asm.R2, asm.R7), asm.RSh.Imm(asm.R2, unwind.BlockBits))
	c.Emit(asm.LoadMem(asm.R1, asm.R6, int16(t.State+blocks+4), asm.Word))
	c.IfReg(asm.JGE, asm.R2, asm.R1, t.pointer)
	c.Emit(asm.LoadMem(asm.R1, asm.R6, int16(t.State+blocks), asm.Word), asm.Add.Reg(asm.R2, asm.R1),
		asm.StoreMem(asm.R10, t.key, asm.R2, asm.Word))
	c.Get(load.WalkBlocksMap.Of(), t.key, t.pointer)
	const inPage = load.WalkPageRows - 1
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.Mov.Reg(asm.R8, asm.R1),
		asm.Mov.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R2, load.WalkCountShift))
	c.IfImm(asm.JEq, asm.R2, 0, t.pointer)
	c.Emit(asm.RSh.Imm(asm.R8, load.WalkFirstShift), asm.And.Imm(asm.R8, inPage), asm.Add.Reg(asm.R2, asm.R8))
	t.put(asm.R6, end, asm.R2)
	c.Emit(asm.Mov.Reg32(asm.R1, asm.R1))
	t.put(asm.R6, page, asm.R1)
	c.Emit(asm.RSh.Imm(asm.R1, load.WalkChunkBits), asm.StoreMem(asm.R10, t.key, asm.R1, asm.Word))
	c.Get(load.WalkPagesMap.Of(), t.key, t.pointer)
	t.get(asm.R1, asm.R6, page)
	c.Emit(asm.And.Imm(asm.R1, 1<<load.WalkChunkBits-1), asm.StoreMem(asm.R10, t.key, asm.R1, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R0))
	c.Addr(asm.R2, t.key)
	c.Call(asm.FnMapLookupElem)
	c.IfImm(asm.JEq, asm.R0, 0, t.pointer)

	// The rows are in memory at R0: no calls from here on.
	c.Emit(asm.And.Imm(asm.R7, 1<<unwind.BlockBits-1))
	load4 := func(dst, index asm.Register) {
		c.Emit(asm.Mov.Reg(asm.R3, index), asm.LSh.Imm(asm.R3, 2), asm.Mov.Reg(asm.R4, asm.R0),
			asm.Add.Reg(asm.R4, asm.R3), asm.LoadMem(dst, asm.R4, 0, asm.Word))
	}
	for step := int32(load.WalkPageRows / 2); step > 0; step /= 2 {
		less := c.Label()
		t.get(asm.R2, asm.R6, end)
		c.Emit(asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, step))
		c.IfReg(asm.JGE, asm.R1, asm.R2, less)
		c.Emit(asm.And.Imm(asm.R1, inPage))
		load4(asm.R5, asm.R1)
		c.Emit(asm.And.Imm(asm.R5, 1<<unwind.BlockBits-1))
		c.IfReg(asm.JGT, asm.R5, asm.R7, less)
		c.Emit(asm.Mov.Reg(asm.R8, asm.R1))
		c.Place(less)
	}
	c.Emit(asm.And.Imm(asm.R8, inPage))
	load4(asm.R5, asm.R8)
	c.Emit(asm.RSh.Imm(asm.R5, unwind.BlockBits), asm.StoreMem(asm.R10, t.key, asm.R5, asm.Word))
	c.Get(load.WalkRulesMap.Of(), t.key, t.pointer)
	c.Emit(asm.Mov.Reg(asm.R8, asm.R0))
}

// number loads a signed number of the rule.
func (t *turn) number(dst asm.Register, at int) {
	t.Emit(asm.LoadMem(dst, asm.R8, int16(at), asm.Word))
	t.Extend(dst, 32, true)
}

// cfa leaves the CFA in R7, or goes where no CFA is needed.
func (t *turn) cfa() {
	c := t.Code
	found, register, memory, plt := c.Label(), c.Label(), c.Label(), c.Label()
	c.Emit(asm.LoadMem(asm.R9, asm.R8, load.WalkRuleKind, asm.Byte))
	c.IfImm(asm.JEq, asm.R9, int32(unwind.ByRegister), register)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.ByMemory), register)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.ByPointer), t.pointer)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.ByPLT), plt)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.BySignal), t.signal)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.BySwitch), t.switches)
	c.IfImm(asm.JEq, asm.R9, int32(unwind.IsEnd), t.stops[load.WalkEnd])
	c.IfImm(asm.JNE, asm.R9, int32(unwind.ByStub), t.stops[load.WalkComplex])
	t.get(asm.R1, asm.R6, called)
	c.IfImm(asm.JNE, asm.R1, 0, t.pointer)

	c.Place(register)
	based := c.Label()
	c.Emit(asm.LoadMem(asm.R1, asm.R8, load.WalkRuleReg, asm.Byte))
	for _, r := range [][2]int{{unwind.RegSP, sp}, {unwind.RegBP, bp}, {unwind.RegBX, bx}} {
		t.get(asm.R7, asm.R6, r[1])
		c.IfImm(asm.JEq, asm.R1, int32(r[0]), based)
	}
	t.get(asm.R2, asm.R6, others)
	c.IfImm(asm.JEq, asm.R2, 0, t.stops[load.WalkComplex])
	for _, r := range [][2]int{{10, r10}, {12, r12}, {13, r13}, {14, r14}, {15, r15}} {
		t.get(asm.R7, asm.R6, r[1])
		c.IfImm(asm.JEq, asm.R1, int32(r[0]), based)
	}
	c.GoTo(t.stops[load.WalkComplex])
	c.Place(based)
	t.number(asm.R1, load.WalkRuleOff)
	c.Emit(asm.Add.Reg(asm.R7, asm.R1))
	c.IfImm(asm.JEq, asm.R9, int32(unwind.ByMemory), memory)
	c.GoTo(found)

	c.Place(memory)
	t.read(buf, 8, asm.R7, 0)
	c.IfImm(asm.JNE, asm.R0, 0, t.stops[load.WalkBad])
	t.get(asm.R7, asm.R6, buf)
	t.number(asm.R1, load.WalkRuleAdd)
	c.Emit(asm.Add.Reg(asm.R7, asm.R1))
	c.GoTo(found)

	c.Place(plt)
	t.get(asm.R7, asm.R6, sp)
	t.get(asm.R1, asm.R6, pc)
	t.number(asm.R2, load.WalkRuleAdd)
	c.Emit(asm.Add.Imm(asm.R7, 8), asm.And.Imm(asm.R1, 15))
	c.IfReg(asm.JLT, asm.R1, asm.R2, found)
	c.Emit(asm.Add.Imm(asm.R7, 8))
	c.Place(found)
}

// read reads user memory at addr plus off to a place of the state. R0 is 0, or an error.
func (t *turn) read(to, size int, addr asm.Register, off int32) {
	t.Emit(asm.Mov.Reg(asm.R3, addr), asm.Add.Imm(asm.R3, off), asm.Mov.Imm(asm.R2, int32(size)),
		asm.Mov.Reg(asm.R1, asm.R6), asm.Add.Imm(asm.R1, int32(t.State+to)))
	t.Call(asm.FnProbeReadUser)
}

// caller goes to the caller of the function whose CFA is in R7.
func (t *turn) caller() {
	c := t.Code
	all := c.Label()
	t.get(asm.R1, asm.R6, sp)
	c.IfReg(asm.JLE, asm.R7, asm.R1, t.stops[load.WalkBad])
	t.putImm(asm.R6, whole, 1)
	t.read(buf, frame, asm.R7, -frame)
	c.IfImm(asm.JEq, asm.R0, 0, all)
	t.putImm(asm.R6, whole, 0)
	t.read(last, 8, asm.R7, -8)
	c.IfImm(asm.JNE, asm.R0, 0, t.stops[load.WalkBad])
	c.Place(all)
	t.get(asm.R1, asm.R6, last)
	c.IfImm(asm.JEq, asm.R1, 0, t.stops[load.WalkEnd])
	t.restore(load.WalkRuleBP, load.WalkRuleBPOff, bp, newBP)
	t.restore(load.WalkRuleBX, load.WalkRuleBXOff, bx, newBX)
	t.get(asm.R1, asm.R6, newBP)
	t.put(asm.R6, bp, asm.R1)
	t.get(asm.R1, asm.R6, newBX)
	t.put(asm.R6, bx, asm.R1)
	t.get(asm.R1, asm.R6, last)
	t.put(asm.R6, pc, asm.R1)
	t.put(asm.R6, sp, asm.R7)
	t.putImm(asm.R6, called, 1)
	t.putImm(asm.R6, others, 0)
	c.GoTo(t.on)
}

// restore leaves the caller's value of a register at a place of the state. One that cannot be
// read stays: in the middle of an epilogue it was popped.
func (t *turn) restore(rule, off, reg, to int) {
	c := t.Code
	done, byBP, memory := c.Label(), c.Label(), c.Label()
	t.get(asm.R1, asm.R6, reg)
	t.put(asm.R6, to, asm.R1)
	c.Emit(asm.LoadMem(asm.R2, asm.R8, int16(rule), asm.Byte))
	c.IfImm(asm.JEq, asm.R2, int32(unwind.Same), done)
	t.number(asm.R3, off)
	c.IfImm(asm.JEq, asm.R2, int32(unwind.AtBP), byBP)
	c.IfImm(asm.JNE, asm.R2, int32(unwind.AtCFA), done)
	c.Emit(asm.Mov.Reg(asm.R9, asm.R7), asm.Add.Reg(asm.R9, asm.R3), asm.Add.Imm(asm.R3, frame))
	t.get(asm.R1, asm.R6, whole)
	c.IfImm(asm.JEq, asm.R1, 0, memory)
	c.IfImm(asm.JGT, asm.R3, frame-8, memory)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R6), asm.Add.Reg(asm.R1, asm.R3),
		asm.LoadMem(asm.R1, asm.R1, int16(t.State+buf), asm.DWord))
	t.put(asm.R6, to, asm.R1)
	c.GoTo(done)
	c.Place(byBP)
	t.get(asm.R9, asm.R6, bp)
	c.Emit(asm.Add.Reg(asm.R9, asm.R3))
	c.Place(memory)
	t.read(page, 8, asm.R9, 0)
	c.IfImm(asm.JNE, asm.R0, 0, done)
	t.get(asm.R1, asm.R6, page)
	t.put(asm.R6, to, asm.R1)
	c.Place(done)
}

// Places of saved registers in struct rt_sigframe of arch/x86/include/asm/sigframe.h, from the
// stack pointer at the return of the handler: uc.uc_mcontext has r8 to r15, di si bp bx dx ax cx
// sp ip.
const (
	signalContext = 40
	signalR10     = buf + 8*2
	signalR12     = buf + 8*4
	signalBP      = buf + 8*10
	signalBX      = buf + 8*11
	signalSP      = buf + 8*15
	signalPC      = buf + 8*16
)

// bySignal goes from where a handler returns to to the code that the signal interrupted.
func (t *turn) bySignal() {
	c := t.Code
	if !c.Used(t.signal) {
		return
	}
	c.Place(t.signal)
	t.get(asm.R7, asm.R6, sp)
	t.read(buf, 17*8, asm.R7, signalContext)
	c.IfImm(asm.JNE, asm.R0, 0, t.stops[load.WalkBad])
	for _, m := range [][2]int{
		{signalR10, r10}, {signalR12, r12}, {signalR12 + 8, r13}, {signalR12 + 16, r14},
		{signalR12 + 24, r15}, {signalBP, bp}, {signalBX, bx}, {signalSP, sp}, {signalPC, pc},
	} {
		t.get(asm.R1, asm.R6, m[0])
		t.put(asm.R6, m[1], asm.R1)
	}
	c.IfImm(asm.JEq, asm.R1, 0, t.stops[load.WalkEnd])
	t.putImm(asm.R6, called, 0)
	t.putImm(asm.R6, others, 1)
	c.GoTo(t.on)
}

// byPointer goes to the caller by the frame pointer: a pair of addresses higher up the stack, or, in
// functions that switch stacks, anywhere.
func (t *turn) byPointer() {
	c := t.Code
	pair := c.Label()
	if c.Used(t.switches) {
		c.Place(t.switches)
		t.get(asm.R7, asm.R6, bp)
		t.read(buf, 16, asm.R7, 0)
		c.IfImm(asm.JEq, asm.R0, 0, pair)
		c.GoTo(t.stops[load.WalkNoTable])
	}
	c.Place(t.pointer)
	none := t.stops[load.WalkNoTable]
	t.get(asm.R7, asm.R6, bp)
	t.get(asm.R1, asm.R6, sp)
	c.IfReg(asm.JLT, asm.R7, asm.R1, none)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R7), asm.Sub.Reg(asm.R2, asm.R1))
	c.IfImm(asm.JGE, asm.R2, maxFrame, none)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.And.Imm(asm.R1, 7))
	c.IfImm(asm.JNE, asm.R1, 0, none)
	t.read(buf, 16, asm.R7, 0)
	c.IfImm(asm.JNE, asm.R0, 0, none)
	t.get(asm.R1, asm.R6, buf+8)
	c.IfImm(asm.JEq, asm.R1, 0, t.stops[load.WalkEnd])
	t.get(asm.R1, asm.R6, buf)
	c.IfImm(asm.JEq, asm.R1, 0, pair)
	c.IfReg(asm.JLE, asm.R1, asm.R7, none)
	c.Place(pair)
	t.get(asm.R1, asm.R6, buf)
	t.put(asm.R6, bp, asm.R1)
	t.get(asm.R1, asm.R6, buf+8)
	c.IfImm(asm.JEq, asm.R1, 0, t.stops[load.WalkEnd])
	t.put(asm.R6, pc, asm.R1)
	c.Emit(asm.Add.Imm(asm.R7, 16))
	t.put(asm.R6, sp, asm.R7)
	t.putImm(asm.R6, called, 1)
	t.putImm(asm.R6, others, 0)
	t.get(asm.R1, asm.R6, by)
	c.Emit(asm.Add.Imm(asm.R1, 1))
	t.put(asm.R6, by, asm.R1)
	c.GoTo(t.on)
}
