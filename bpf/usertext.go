package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/perf"
)

// This file reads texts of the process: user_string(address). A program reads
// one where an expression asks for it, as any text, or sends it behind a compact
// record. A page that is not in memory cannot be fetched by a program: the
// text is a word for that then.

// userRoom is the room for a text of the process, its NUL included.
const userRoom = event.UserTextLimit + 1

// userText puts a text of the process at off.
func (g *gen) userText(off int16, size int, n *expr.Native) {
	c := g.code
	done := c.label()
	g.num(n.Args[0])
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

// layTexts adds to a record the word that says where its texts are.
func (r *record) layTexts() {
	if r.texts = 0; len(r.Texts) > 0 {
		r.texts = pad(r.size)
		r.size = r.texts + 8
	}
}

// buffer is how large a record can become.
func (r *record) buffer() int {
	n := r.size
	if r.Whole {
		n += wholeMost
	}
	return pad(n) + len(r.Texts)*(perf.TextHead+userRoom)
}

// behind adds the texts to a record: R7 is where it is, R5 how long.
//
// The length is kept with the record: the verifier takes a number that is
// read back from there for unknown, so that it follows each text once, not
// once for every combination of lengths before it.
func (g *gen) behind(r *record) {
	c := g.code
	from, to := int16(r.texts), int16(r.texts+4)
	most := int32(r.buffer() - perf.TextHead - userRoom)
	c.emit(asm.Add.Imm(asm.R5, 7), asm.And.Imm(asm.R5, -8),
		asm.StoreMem(asm.R7, from, asm.R5, asm.Word), asm.StoreMem(asm.R7, to, asm.R5, asm.Word))
	for _, n := range r.Texts {
		next := c.label()
		g.num(n)
		c.ifImm(asm.JEq, asm.R0, 0, next)
		c.emit(asm.LoadMem(asm.R1, asm.R7, to, asm.Word))
		c.ifImm(asm.JGT, asm.R1, most, g.fail)
		c.emit(asm.Mov.Reg(asm.R8, asm.R7), asm.Add.Reg(asm.R8, asm.R1),
			asm.StoreMem(asm.R8, 0, asm.R0, asm.DWord),
			asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Reg(asm.R1, asm.R8), asm.Add.Imm(asm.R1, perf.TextHead))
		c.readUser(asm.R8, perf.TextHead)
		c.emit(asm.StoreMem(asm.R8, 8, asm.R0, asm.DWord), asm.LoadMem(asm.R1, asm.R7, to, asm.Word),
			asm.Add.Reg(asm.R1, asm.R0), asm.Add.Imm(asm.R1, perf.TextHead+7), asm.And.Imm(asm.R1, -8),
			asm.StoreMem(asm.R7, to, asm.R1, asm.Word))
		c.place(next)
	}
	c.emit(asm.LoadMem(asm.R5, asm.R7, to, asm.Word))
	c.ifImm(asm.JGT, asm.R5, int32(r.buffer()), g.fail)
}

// fillBuffer puts the fields into memory of the CPU, for texts to follow: R7 is
// where, R5 how long.
func (g *gen) fillBuffer(r *record) {
	c := g.code
	mark := c.stack
	at := c.alloc(r.texts)
	if r.texts > 0 {
		c.zero(at+int16(r.texts)-8, 8) // fields may end in the middle
	}
	g.fill(r, at)
	g.scratch()
	for i := 0; i < r.texts; i += 8 {
		c.load(asm.R0, at+int16(i))
		c.emit(asm.StoreMem(asm.R7, int16(i), asm.R0, asm.DWord))
	}
	c.emit(asm.Mov.Imm(asm.R5, int32(r.size)))
	c.stack = mark
}

// recordNumber reads a number at a fixed place of the record: an element of an
// array.
func (g *gen) recordNumber(n *expr.Mem) {
	off, p, ok := expr.RecordOffset(n.Addr)
	if !ok || p != expr.Self || g.env.pair != nil || g.env.out != nil || g.kind != ebpf.TracePoint {
		refuse("%s has no code for the kernel", n)
	}
	g.ctx(asm.R0, off, n.Size, n.Signed)
}
