package walk

import (
	_ "embed"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
)

// A walk begins with the registers that the task had as it entered the kernel, or was
// interrupted. The body of the loop is a function of its own, which the verifier looks at once
// for all turns; the state of the walk lies in the memory of the stack, of which the verifier
// assumes nothing.
//
// Each turn writes an address, finds the range that it lies in (most often that of the turn
// before), the block, the row, the rule, and reads 64 bytes below the CFA: the return address
// and all that the function saved lie there nearly always.
//
// The tempting other ways cost more: one binary search over the rows of a file has 15 to 20
// steps, each with a look-up in a map, where the rows of a block are in one value and are found
// in as many steps as they need; and the kernel's trie of prefixes, asked by process and
// address for each frame, takes as long as all else.

//go:embed walk.o
var walkObject []byte

// routines are the routines of walk.c, which a test compiles again.
var routines = assembler.NewObject(walkObject)

// stateSize is the size of the state of a walk, behind that of a kept stack.
const stateSize = 304

// Constants of walk.c. userCS is the code segment of 64-bit programs, maxFrame bounds the distance of a frame
// pointer from the stack pointer, again is how long a program waits until it asks for a process again, in ns.
const (
	userCS   = 0x33
	maxFrame = 8 << 20
	again    = 20e6
)

// user writes the addresses of the user stack to R7, at most as many as most leaves beside the R8 bytes
// that there are, and leaves their size in R8. It jumps to pointers if nothing is known of the
// process, or of the code where it was interrupted, or if it is none of 64 bits.
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

// turns walks on, at most so many frames: the state and the addresses, for which there is room, lie in R7.
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
