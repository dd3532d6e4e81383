package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads texts of the process: user_string(address). A program reads
// one where an expression asks for it, as any text, or sends it behind a compact
// record. A page that is not in memory cannot be fetched by a program: the
// text is a word for that then.

// userRoom is the room for a text of the process, its NUL included.
const userRoom = event.UserTextLimit + 1

// userText puts a text of the process at off.
func (e *eval) userText(off int16, size int, n *expr.Native) {
	c := e.code
	done := c.label()
	e.num(n.Args[0])
	c.emit(asm.Mov.Reg(asm.R3, asm.R0))
	c.zero(off, size)
	c.ifImm(asm.JEq, asm.R3, 0, done)
	c.addr(asm.R1, off)
	c.readUser(asm.R10, off)
	c.place(done)
}

// readUser reads the text at the address in R3 to R1, which is base plus off:
// up to its end, or a word instead of it. R0 is how many bytes it has, with its
// NUL.
func (c *code) readUser(base asm.Register, off int16) {
	mark := c.stack
	addr, next := c.alloc(8), c.alloc(8)
	done, read, empty := c.label(), c.label(), c.label()
	c.store(addr, asm.R3)
	c.emit(asm.Mov.Imm(asm.R2, userRoom))
	c.call(asm.FnProbeReadUserStr)
	c.ifImm(asm.JSGT, asm.R0, 0, read)
	c.ifImm(asm.JEq, asm.R0, 0, empty)
	c.constant(asm.R0, int64(wordOf(event.UserTextFault)))
	c.emit(asm.StoreMem(base, off, asm.R0, asm.DWord), asm.Mov.Imm(asm.R0, int32(len(event.UserTextFault)+1)))
	c.goTo(done)
	c.place(empty) // older kernels do not count the NUL of this one
	c.emit(asm.Mov.Imm(asm.R0, 0), asm.StoreMem(base, off, asm.R0, asm.Byte), asm.Mov.Imm(asm.R0, 1))
	c.goTo(done)
	c.place(read)
	// One that fills the room may go on.
	c.ifImm(asm.JNE, asm.R0, userRoom, done)
	c.zero(next, 8)
	c.load(asm.R3, addr)
	c.emit(asm.Add.Imm(asm.R3, userRoom-1), asm.Mov.Imm(asm.R2, 1))
	c.addr(asm.R1, next)
	c.call(asm.FnProbeReadUser)
	c.load(asm.R1, next)
	c.emit(asm.Mov.Imm(asm.R0, userRoom))
	c.ifImm(asm.JEq, asm.R1, 0, done)
	c.emit(asm.Mov.Imm(asm.R1, int32(wordOf("..."))), asm.StoreMem(base, off+userRoom-4, asm.R1, asm.Word))
	c.place(done)
	c.stack = mark
}

// wordOf is a short text as the word that it is in memory.
func wordOf(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.LittleEndian.Uint64(b[:])
}

// recordNumber reads a number at a fixed place of the record: an element of an
// array.
func (e *eval) recordNumber(n *expr.Mem) {
	off, p, ok := expr.RecordOffset(n.Addr)
	if !ok || p != expr.Self || e.env.pair != nil || e.env.out != nil || e.hook.kind != ebpf.TracePoint {
		refuse("%s has no code for the kernel", n)
	}
	e.hook.ctx(asm.R0, off, n.Size, n.Signed)
}
