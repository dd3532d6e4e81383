package bpf

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/arith"
	"ppscript/bpf/load"
)

// This file is the assembler's desk: instructions, forward labels, stack.
//
// Jumps go forward, but for loops whose end the verifier can see. Code that
// cannot be reached is not emitted, since the verifier refuses it. Labels are
// numbers, resolved at the end; the library's symbols would allow one label per
// instruction.

// A Refusal says why something cannot run in the kernel. It is not a failure:
// the plan then runs natively.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

// refuse leaves the generator; caught turns it into an error.
func refuse(format string, args ...any) {
	panic(&Refusal{fmt.Sprintf(format, args...)})
}

// caught is deferred by who makes an image: a refusal is its error.
func caught(im **Image, err *error) {
	switch r := recover().(type) {
	case nil:
	case *Refusal:
		*im, *err = nil, r
	default:
		panic(r)
	}
}

// stackSize is the kernel's MAX_BPF_STACK.
const stackSize = 512

type label = arith.Label

// A code is one program while it is generated.
type code struct {
	ins   []asm.Instruction
	jumps map[int]label // by index of the jump
	at    []int         // by label: index of its instruction, -1 if not placed
	used  []bool
	loops []bool // by label: jumps to it go backward
	dead  bool   // code emitted now could not be reached
	dry   bool   // nothing is emitted: the caller only asks whether it could be

	stack int // bytes in use
	peak  int
}

func newCode() *code { return &code{jumps: map[int]label{}} }

func (c *code) label() label {
	c.at = append(c.at, -1)
	c.used = append(c.used, false)
	c.loops = append(c.loops, false)
	return label(len(c.at) - 1)
}

func (c *code) emit(ins ...asm.Instruction) {
	if !c.dead && !c.dry {
		c.ins = append(c.ins, ins...)
	}
}

// jump emits a jump to l.
func (c *code) jump(ins asm.Instruction, l label) {
	if c.dead {
		return
	}
	c.used[l] = true
	if c.dry {
		return
	}
	c.jumps[len(c.ins)] = l
	c.ins = append(c.ins, ins)
}

// goTo jumps always: nothing behind it is reached but through a label.
func (c *code) goTo(l label) {
	c.jump(asm.Ja.Label(""), l)
	c.dead = true
}

// place puts l here.
func (c *code) place(l label) {
	c.at[l] = len(c.ins)
	if c.used[l] {
		c.dead = false
	}
}

// loop begins a loop here, again goes back there.
func (c *code) loop() label {
	l := c.label()
	c.at[l], c.loops[l] = len(c.ins), true
	return l
}

func (c *code) again(l label) { c.goTo(l) }

// ifImm and ifReg jump to l if dst OP what.
func (c *code) ifImm(op asm.JumpOp, dst asm.Register, v int32, l label) {
	c.jump(asm.Instruction{OpCode: op.Op(asm.ImmSource), Dst: dst, Constant: int64(v)}, l)
}

func (c *code) ifReg(op asm.JumpOp, dst, src asm.Register, l label) {
	c.jump(asm.Instruction{OpCode: op.Op(asm.RegSource), Dst: dst, Src: src}, l)
}

// constant loads any 64-bit number.
func (c *code) constant(dst asm.Register, v int64) {
	if v == int64(int32(v)) {
		c.emit(asm.Mov.Imm(dst, int32(v)))
		return
	}
	c.emit(asm.LoadImm(dst, v, asm.DWord))
}

func (c *code) call(fn asm.BuiltinFunc) { c.emit(fn.Call()) }

// mapPtr loads a map that Open will make.
func (c *code) mapPtr(dst asm.Register, m load.MapID) {
	c.emit(asm.LoadMapPtr(dst, 0).WithReference(m.String()))
}

// mapValue loads the address of the only value of an array map, plus off.
func (c *code) mapValue(dst asm.Register, m load.MapID, off uint32) {
	c.emit(asm.LoadMapValue(dst, 0, off).WithReference(m.String()))
}

// alloc reserves n bytes of stack, 8-aligned; the offset from R10 is
// negative. c.stack = mark gives back all that was reserved after a mark.
func (c *code) alloc(n int) int16 {
	c.stack += (n + 7) &^ 7
	c.peak = max(c.peak, c.stack)
	if c.stack > stackSize {
		refuse("needs more than the %d bytes of stack that a program has", stackSize)
	}
	return int16(-c.stack)
}

func (c *code) store(off int16, src asm.Register) {
	c.emit(asm.StoreMem(asm.R10, off, src, asm.DWord))
}

func (c *code) load(dst asm.Register, off int16) {
	c.emit(asm.LoadMem(dst, asm.R10, off, asm.DWord))
}

// addr points dst at a place of the stack.
func (c *code) addr(dst asm.Register, off int16) {
	c.emit(asm.Mov.Reg(dst, asm.R10), asm.Add.Imm(dst, int32(off)))
}

// zero clears n bytes of stack, n a multiple of 8.
func (c *code) zero(off int16, n int) {
	for i := 0; i < n; i += 8 {
		c.emit(storeImm(asm.R10, off+int16(i), 0))
	}
}

// finish resolves the labels. An offset counts instruction words behind the
// jump; a 64-bit load has two.
func (c *code) finish() asm.Instructions {
	if c.dry {
		return nil
	}
	words := make([]int, len(c.ins)+1)
	for i := range c.ins {
		words[i+1] = words[i] + int(c.ins[i].Width())
	}
	for i, l := range c.jumps {
		to := c.at[l]
		if to <= i != c.loops[l] {
			panic(fmt.Sprintf("BUG: label %d at %d, jump at %d", l, to, i))
		}
		off := words[to] - words[i+1]
		if off > math.MaxInt16 || off < math.MinInt16 {
			refuse("is too long for a program")
		}
		c.ins[i].Offset = int16(off)
		if c.ins[i].OpCode.JumpOp() == asm.Ja {
			c.ins[i] = asm.Instruction{OpCode: c.ins[i].OpCode, Offset: int16(off)}
		}
	}
	return c.ins
}

// storeImm stores a 64-bit word, v extended by its sign. The library has no
// such instruction, the kernel does.
func storeImm(dst asm.Register, off int16, v int32) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(asm.DWord),
		Dst: dst, Offset: off, Constant: int64(v)}
}

// exchange is an atomic operation on a 64-bit word. The library (0.22) forgets to encode
// which one, so that it would become an addition.
func exchange(op asm.AtomicOp, dst, src asm.Register, off int16) asm.Instruction {
	ins := op.Mem(dst, src, asm.DWord, off)
	ins.Constant = int64(op >> 8)
	return ins
}
