package assembler

import (
	"fmt"
	"math"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
)

// This file emits instructions, resolves labels and reserves places.
//
// Jumps go forward, but for loops whose end the verifier can see. Code that
// cannot be reached is not emitted, since the verifier refuses it. Labels are
// numbers, resolved at the end; the library's symbols would allow one label per
// instruction.

// A Refusal says why something cannot run in the kernel. It is not a failure:
// the plan then runs natively.
type Refusal struct {
	Why string
	// Stack says that the stack is too small: a program whose large places lie in scratch memory may do.
	Stack bool
}

func (r *Refusal) Error() string { return r.Why }

// Refuse panics with a Refusal, which package bpf turns into an error.
func Refuse(format string, args ...any) {
	panic(&Refusal{Why: fmt.Sprintf(format, args...)})
}

// refuseStack refuses a program for want of stack.
func refuseStack(format string, args ...any) {
	panic(&Refusal{Why: fmt.Sprintf(format, args...), Stack: true})
}

// stackSize is the kernel's MAX_BPF_STACK.
const stackSize = 512

// A Label is a place of a program.
type Label int

// A Code is one program while it is generated.
type Code struct {
	ins   []asm.Instruction
	jumps map[int]Label // by index of the jump
	at    []int         // by label: index of its instruction, -1 if not placed
	used  []bool
	loops []bool // by label: jumps to it go backward
	dead  bool   // code emitted now could not be reached
	dry   bool   // nothing is emitted: the caller only asks whether it could be

	Stack Memory // in use
	peak  Memory
	// Scratch is the map of the scratch memory.
	Scratch load.MapID
	// Spills is the size in bytes from which places lie in scratch memory once FindScratch was
	// called; 0 keeps all places on the stack.
	Spills int
	base   int16 // the place of the scratch memory's address on the stack; 0 if it is not there

	called callList
}

// New is an empty program.
func New() *Code { return &Code{jumps: map[int]Label{}} }

// NewDry is a program that emits nothing, for callers that only ask whether it
// could be generated.
func NewDry() *Code {
	c := New()
	c.dry = true
	return c
}

// Dead reports that instructions emitted now could not be reached.
func (c *Code) Dead() bool { return c.dead }

// Reached says that they can be reached after all, by a jump that the caller
// emitted.
func (c *Code) Reached() { c.dead = false }

// Used reports that something jumps to l.
func (c *Code) Used(l Label) bool { return c.used[l] }

// Label makes a label, to be placed later.
func (c *Code) Label() Label {
	c.at = append(c.at, -1)
	c.used = append(c.used, false)
	c.loops = append(c.loops, false)
	return Label(len(c.at) - 1)
}

// Emit appends instructions.
func (c *Code) Emit(ins ...asm.Instruction) {
	if !c.dead && !c.dry {
		c.ins = append(c.ins, ins...)
	}
}

// jump emits a jump to l.
func (c *Code) jump(ins asm.Instruction, l Label) {
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

// GoTo jumps always: code behind it is reached only through a label.
func (c *Code) GoTo(l Label) {
	c.jump(asm.Ja.Label(""), l)
	c.dead = true
}

// Place places l in front of the next instruction.
func (c *Code) Place(l Label) {
	c.at[l] = len(c.ins)
	if c.used[l] {
		c.dead = false
	}
}

// Loop begins a loop here; Again jumps back to it.
func (c *Code) Loop() Label {
	l := c.Label()
	c.at[l], c.loops[l] = len(c.ins), true
	return l
}

// Again jumps back to the begin of a loop.
func (c *Code) Again(l Label) { c.GoTo(l) }

// IfImm jumps to l if dst OP v.
func (c *Code) IfImm(op asm.JumpOp, dst asm.Register, v int32, l Label) {
	c.jump(asm.Instruction{OpCode: op.Op(asm.ImmSource), Dst: dst, Constant: int64(v)}, l)
}

// IfReg jumps to l if dst OP src.
func (c *Code) IfReg(op asm.JumpOp, dst, src asm.Register, l Label) {
	c.jump(asm.Instruction{OpCode: op.Op(asm.RegSource), Dst: dst, Src: src}, l)
}

// Constant loads any 64-bit number.
func (c *Code) Constant(dst asm.Register, v int64) {
	if v == int64(int32(v)) {
		c.Emit(asm.Mov.Imm(dst, int32(v)))
		return
	}
	c.Emit(asm.LoadImm(dst, v, asm.DWord))
}

// Call calls a helper.
func (c *Code) Call(fn asm.BuiltinFunc) { c.Emit(fn.Call()) }

// MapPtr loads a map, which load.Open will make.
func (c *Code) MapPtr(dst asm.Register, m load.MapID) {
	c.Emit(asm.LoadMapPtr(dst, 0).WithReference(m.String()))
}

// MapValue loads the address of the only value of an array map, plus off.
func (c *Code) MapValue(dst asm.Register, m load.MapID, off uint32) {
	c.Emit(asm.LoadMapValue(dst, 0, off).WithReference(m.String()))
}

// Alloc reserves n bytes, 8-aligned, and returns their place: on the stack a negative offset from
// R10, in scratch memory a positive offset. Only a program that spills has large places in scratch
// memory. c.Stack = mark frees all places that were reserved since mark was read from c.Stack.
func (c *Code) Alloc(n int) int16 {
	if c.base != 0 && n >= c.Spills {
		return int16(c.AllocScratch(n))
	}
	return c.AllocStack(n)
}

// AllocStack reserves n bytes on the stack in any case, for code that addresses
// them by R10.
func (c *Code) AllocStack(n int) int16 {
	c.Stack.stack += (n + 7) &^ 7
	c.peak.stack = max(c.peak.stack, c.Stack.stack)
	if c.Stack.stack > stackSize {
		refuseStack("needs more than the %d bytes of stack that a program has", stackSize)
	}
	return int16(-c.Stack.stack)
}

// Base returns a register and an offset with which instructions address a place: R10 for the stack.
// For scratch memory it loads the address into by and returns that.
func (c *Code) Base(at int16, by asm.Register) (base asm.Register, off int16) {
	if at < 0 {
		return asm.R10, at
	}
	if c.base == 0 && !c.dead {
		panic("BUG: a place in scratch memory that is not known")
	}
	c.Emit(asm.LoadMem(by, asm.R10, c.base, asm.DWord))
	return by, at
}

// Store stores a register at a place. It may overwrite R5, which cannot be
// stored.
func (c *Code) Store(at int16, src asm.Register) { c.StorePart(at, src, asm.DWord) }

// StorePart stores the lower bytes of a register at a place. It may overwrite R5,
// which cannot be stored.
func (c *Code) StorePart(at int16, src asm.Register, size asm.Size) {
	if at >= 0 && src == storeBase {
		panic("BUG: a store of the register that finds the place")
	}
	base, off := c.Base(at, storeBase)
	c.Emit(asm.StoreMem(base, off, src, size))
}

// storeBase is the register that holds the address of scratch memory when a
// place there is written.
const storeBase = asm.R5

// Load loads from a place.
func (c *Code) Load(dst asm.Register, at int16) { c.LoadPart(dst, at, asm.DWord) }

// LoadPart loads an unsigned number of a size from a place.
func (c *Code) LoadPart(dst asm.Register, at int16, size asm.Size) {
	base, off := c.Base(at, dst)
	c.Emit(asm.LoadMem(dst, base, off, size))
}

// Addr points dst at a place.
func (c *Code) Addr(dst asm.Register, at int16) {
	base, off := c.Base(at, dst)
	if base != dst {
		c.Emit(asm.Mov.Reg(dst, base))
	}
	c.Emit(asm.Add.Imm(dst, int32(off)))
}

// Set stores v at a place, extended with its sign to 64 bits. It may overwrite
// R5.
func (c *Code) Set(at int16, v int32) {
	base, off := c.Base(at, storeBase)
	c.Emit(StoreImm(base, off, v))
}

// Zero clears n bytes at a place, n a multiple of 8. It may overwrite R5.
func (c *Code) Zero(at int16, n int) {
	base, off := c.Base(at, storeBase)
	for i := 0; i < n; i += 8 {
		c.Emit(StoreImm(base, off+int16(i), 0))
	}
}

// Finish resolves the labels. The offset of a jump counts instruction words
// from the next instruction on; a 64-bit load has two.
func (c *Code) Finish() asm.Instructions {
	c.checkStack()
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
			Refuse("is too long for a program")
		}
		c.ins[i].Offset = int16(off)
		if c.ins[i].OpCode.JumpOp() == asm.Ja {
			c.ins[i] = asm.Instruction{OpCode: c.ins[i].OpCode, Offset: int16(off)}
		}
	}
	return withRoutines(c, c.ins)
}

// StoreImm stores v, extended with its sign to 64 bits. The library has no such
// instruction, the kernel does.
func StoreImm(dst asm.Register, off int16, v int32) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.StClass).SetMode(asm.MemMode).SetSize(asm.DWord),
		Dst: dst, Offset: off, Constant: int64(v)}
}

// Exchange is an atomic operation on a 64-bit word. The library (0.22) does not encode
// which operation, so that each would become an addition.
func Exchange(op asm.AtomicOp, dst, src asm.Register, off int16) asm.Instruction {
	ins := op.Mem(dst, src, asm.DWord, off)
	ins.Constant = int64(op >> 8)
	return ins
}

// KernelFunction calls a function of the kernel (kfunc) by the number of its
// BTF type.
func (c *Code) KernelFunction(id int) {
	c.Emit(asm.Instruction{
		OpCode:   asm.OpCode(asm.JumpClass).SetJumpOp(asm.Call),
		Src:      asm.PseudoKfuncCall,
		Constant: int64(id),
	})
}
