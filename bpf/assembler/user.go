package assembler

import (
	"encoding/binary"
	"strconv"

	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
)

// This file reads texts from the memory of the running process.

// UserRoom is the room for a text of the process, its NUL included.
const UserRoom = event.UserTextLimit + 1

// UserFault is the length of the text that stands for an unreadable one, its
// NUL included.
const UserFault = int32(len(event.UserTextFault) + 1)

// Word is a text of up to 8 bytes as a 64-bit number.
func Word(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

// ReadText copies the text at the address in R3 to the address in R1, which is base
// plus off. If it cannot be read, event.UserTextFault is stored instead; if it is too
// long, it is cut and ends with "...". R0 is then its length, with its NUL. work is the
// offset of 16 free bytes of stack; name makes the labels unique in the program.
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
		// Older kernels do not count the NUL of an empty text.
		asm.Mov.Imm(asm.R0, 0).WithSymbol(empty),
		asm.StoreMem(base, off, asm.R0, asm.Byte),
		asm.Mov.Imm(asm.R0, 1),
		asm.Ja.Label(done),
		// A text that fills the room may be longer.
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

// Here is an instruction that does nothing, as the target of jumps.
func Here(name string) asm.Instruction {
	return asm.Instruction{OpCode: asm.OpCode(asm.JumpClass).SetJumpOp(asm.Ja)}.WithSymbol(name)
}

// ReadUser emits ReadText, with work and labels of its own.
func (c *Code) ReadUser(base asm.Register, off int16) {
	mark := c.Stack
	c.Emit(ReadText(base, off, c.AllocStack(16), c.Name())...)
	c.Stack = mark
}

// ReadUserAt is ReadUser to a place. It overwrites R9.
func (c *Code) ReadUserAt(at int16) {
	base, off := c.Base(at, asm.R9)
	c.Addr(asm.R1, at)
	c.ReadUser(base, off)
}

// Name returns a name for labels that is unique in the program.
func (c *Code) Name() string { return "at_" + strconv.Itoa(len(c.ins)) }
