package assembler

import (
	"encoding/binary"
	"strconv"

	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
)

// This file reads texts of the process.

// UserRoom is the room for a text of the process, its NUL included.
const UserRoom = event.UserTextLimit + 1

// UserFault is how many bytes the word for a text has that could not be read.
const UserFault = int32(len(event.UserTextFault) + 1)

// Word is a short text as the word that it is in memory.
func Word(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

// ReadText reads the text at the address in R3 to R1, which is base plus off: up to its
// end, or a word instead of it. R0 is how many bytes it has, with its NUL. work is
// where 16 bytes of the stack are free, name makes the labels of a program unique.
func ReadText(base asm.Register, off, work int16, name string) asm.Instructions {
	read, empty, done := name+"_read", name+"_empty", name+"_done"
	addr, next := work, work+8
	return asm.Instructions{
		asm.StoreMem(asm.R10, addr, asm.R3, asm.DWord),
		asm.Mov.Imm(asm.R2, UserRoom),
		asm.FnProbeReadUserStr.Call(),
		asm.JSGT.Imm(asm.R0, 0, read),
		asm.JEq.Imm(asm.R0, 0, empty),
		asm.LoadImm(asm.R0, int64(Word(event.UserTextFault)), asm.DWord),
		asm.StoreMem(base, off, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, UserFault),
		asm.Ja.Label(done),
		// Older kernels do not count the NUL of this one.
		asm.Mov.Imm(asm.R0, 0).WithSymbol(empty),
		asm.StoreMem(base, off, asm.R0, asm.Byte),
		asm.Mov.Imm(asm.R0, 1),
		asm.Ja.Label(done),
		// One that fills the room may go on.
		asm.JNE.Imm(asm.R0, UserRoom, done).WithSymbol(read),
		asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.R10, next, asm.R1, asm.DWord),
		asm.LoadMem(asm.R3, asm.R10, addr, asm.DWord),
		asm.Add.Imm(asm.R3, UserRoom-1),
		asm.Mov.Imm(asm.R2, 1),
		asm.Mov.Reg(asm.R1, asm.R10),
		asm.Add.Imm(asm.R1, int32(next)),
		asm.FnProbeReadUser.Call(),
		asm.LoadMem(asm.R1, asm.R10, next, asm.DWord),
		asm.Mov.Imm(asm.R0, UserRoom),
		asm.JEq.Imm(asm.R1, 0, done),
		asm.Mov.Imm(asm.R1, int32(Word("..."))),
		asm.StoreMem(base, off+UserRoom-4, asm.R1, asm.Word),
		Here(done),
	}
}

// Here is a place to jump to: it goes on.
func Here(name string) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)}.WithSymbol(name)
}

// ReadUser reads the text at the address in R3 to R1, which is base plus off:
// up to its end, or a word instead of it. R0 is how many bytes it has, with its
// NUL.
func (c *Code) ReadUser(base asm.Register, off int16) {
	mark := c.Stack
	c.Emit(ReadText(base, off, c.AllocStack(16), c.Name())...)
	c.Stack = mark
}

// ReadUserAt is ReadUser to a place. R9 is lost.
func (c *Code) ReadUserAt(at int16) {
	base, off := c.Base(at, asm.R9)
	c.Addr(asm.R1, at)
	c.ReadUser(base, off)
}

// Name is a name that no other place of the program has.
func (c *Code) Name() string { return "at_" + strconv.Itoa(len(c.ins)) }
