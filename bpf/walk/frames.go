package walk

import (
	_ "embed"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// A walk begins with the registers that the task had as it entered the kernel, or was
// interrupted. The body of the loop is a function of its own, which the verifier checks once
// for all turns; the state of the walk lies behind the call stack in the same memory, about
// whose content the verifier assumes nothing.
//
// Each turn writes an address, and finds its range (a mapping of the process, most often the
// same as in the turn before), its block of rows, its row and its rule. Then it reads the 64
// bytes below the CFA (canonical frame address): the return address and all saved registers
// are nearly always there.
//
// The tempting alternatives cost more. One binary search over all rows of a file has 15 to 20
// steps, each with a look-up in a map, while all rows of a block are in one value. A look-up by
// process and address in the kernel's prefix trie, for each frame, takes as long as all the
// rest.

//go:embed walk.o
var walkObject []byte

// routines holds the compiled routines of walk.c; a test compiles them again
// and compares.
var routines = assembler.NewObject(walkObject)

// stateSize is the size in bytes of the state of a walk, which follows the call
// stack in memory.
const stateSize = 304

// Constants of walk.c. userCS is the code segment of 64-bit programs, maxFrame bounds the distance of a frame
// pointer from the stack pointer, again is how long a program waits until it asks for a process again, in ns.
const (
	userCS   = 0x33
	maxFrame = 8 << 20
	again    = 20e6
)

// user writes the addresses of the user stack to the memory at R7, and leaves their size in R8. At
// the begin R8 is the size of the kernel's part; together they have at most most addresses. It
// jumps to pointers if there are no tables for the process or for the interrupted code, or if the
// process is not a 64-bit one.
func (w *Stacks) user(most int, pointers assembler.Label) {
	c := w.Code
	mark := c.Stack
	state := func() {
		c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Mov.Reg(asm.R2, asm.R7),
			asm.Add.Imm(asm.R2, int32(w.size())))
	}
	state()
	c.Emit(asm.Mov.Imm(asm.R3, int32(8*most)), asm.Sub.Reg(asm.R3, asm.R8))
	c.Routine(routines, "walk_begin")
	c.IfImm(asm.JNE, asm.R0, 0, pointers)
	turns(c, int32(w.size()), load.ChainWords+int32(8*w.Kernel), w.User, most)
	state()
	c.Emit(asm.Mov.Imm(asm.R3, int32(most)))
	c.Routine(routines, "walk_end")
	c.IfImm(asm.JNE, asm.R0, 0, pointers)
	c.Emit(asm.LoadMem(asm.R8, asm.R7, load.ChainUser, asm.DWord))
	c.Stack = mark
}

// turns walks at most most further frames. state and words are offsets from R7 of the walk's state
// and of the addresses, which have room for room addresses.
func turns(c *assembler.Code, state, words int32, room, most int) {
	turn := c.AllocStack(24)
	for i, at := range []int32{state, words} {
		c.Emit(asm.Mov.Reg(asm.R1, asm.R7), asm.Add.Imm(asm.R1, at))
		c.Store(turn+int16(8*i), asm.R1)
	}
	c.Emit(asm.Mov.Imm(asm.R1, int32(8*room)))
	c.Store(turn+16, asm.R1)
	c.Repeat(routines, "walk_frame", most, turn)
}
