package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
)

// This file cuts parts out of texts, and finds texts in other texts.

// wordAt loads 8 bytes of a text from byte i on; bytes behind its room are 0.
func (e textCode) wordAt(dst, scratch asm.Register, text int16, room, i int) {
	c := e.Code
	k, shift := i/8*8, int32(i%8*8)
	c.Load(dst, text+int16(k))
	if shift == 0 {
		return
	}
	c.Emit(asm.RSh.Imm(dst, shift))
	if k+8 < room {
		c.Load(scratch, text+int16(k+8))
		c.Emit(asm.LSh.Imm(scratch, 64-shift), asm.Or.Reg(dst, scratch))
	}
}

// length leaves the length of the text at a place in R0.
func (e textCode) length(text int16, room int) {
	c := e.Code
	// The text is copied onto itself: the helper returns its length.
	c.Addr(asm.R1, text)
	c.Emit(asm.Mov.Imm(asm.R2, int32(room)), asm.Mov.Reg(asm.R3, asm.R1))
	c.Call(asm.FnProbeReadKernelStr)
	c.Emit(asm.Sub.Imm(asm.R0, 1))
}

// negative sets dst to 1 if src is negative, else to 0.
func (e textCode) negative(dst, src asm.Register) {
	e.Emit(asm.Mov.Reg(dst, src), asm.RSh.Imm(dst, 63))
}

// index converts the index in R0, which counts from the end if it is negative, to an
// index that counts from the front. It leaves the length in R1. Starlark's indices have
// 32 bits: small says that this one is known to fit.
func (e textCode) index(small bool, length int16) {
	c := e.Code
	if !small {
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0))
		c.Extend(asm.R1, 32, true)
		c.IfReg(asm.JNE, asm.R0, asm.R1, e.Fail)
	}
	c.Load(asm.R1, length)
	e.negative(asm.R2, asm.R0)
	c.Emit(asm.Mul.Reg(asm.R2, asm.R1), asm.Add.Reg(asm.R0, asm.R2))
}

// clamp limits the index in R0 to the range from 0 to the length in R1.
func (e textCode) clamp() {
	c := e.Code
	e.negative(asm.R2, asm.R0)
	c.Emit(asm.Xor.Imm(asm.R2, 1), asm.Mul.Reg(asm.R0, asm.R2))
	c.Emit(asm.Mov.Reg(asm.R3, asm.R1), asm.Sub.Reg(asm.R3, asm.R0))
	e.negative(asm.R2, asm.R3)
	c.Emit(asm.Mul.Reg(asm.R2, asm.R3), asm.Add.Reg(asm.R0, asm.R2))
}

// copyPart copies R2 bytes of a text to off, from byte R3 on; nothing if R2 is
// negative.
func (e textCode) copyPart(off int16, size int, text int16, room int) {
	c := e.Code
	e.negative(asm.R4, asm.R2)
	c.Emit(asm.Xor.Imm(asm.R4, 1), asm.Mul.Reg(asm.R2, asm.R4))
	c.Zero(off, size)
	// The bounds hold already; these tests prove them to the verifier.
	c.IfImm(asm.JGT, asm.R2, int32(min(size, room)-1), e.Fail)
	c.IfImm(asm.JGT, asm.R3, int32(room-1), e.Fail)
	base, from := c.Base(text, asm.R4)
	c.Emit(asm.Add.Reg(asm.R3, base), asm.Add.Imm(asm.R3, int32(from)))
	c.Addr(asm.R1, off)
	c.Call(asm.FnProbeReadKernel)
}

// tail copies a text from byte R0 on, with the zeros behind it.
func (e textCode) tail(off int16, size int, text int16, room int) {
	c := e.Code
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0), asm.Mov.Imm(asm.R2, int32(room-1)), asm.Sub.Reg(asm.R2, asm.R0))
	e.copyPart(off, size, text, room)
}

// find leaves in R0 the index of the first, or the last, occurrence of a constant in
// the text at a place; -1 if there is none. It overwrites R9.
func (e textCode) find(text int16, room int, sub string, last bool) {
	c := e.Code
	if len(sub) > 8 || indexNUL(sub) >= 0 {
		assembler.Refuse("finding a text of %d bytes", len(sub))
	}
	places := room - len(sub)
	if places <= 0 {
		c.Emit(asm.Mov.Imm(asm.R0, -1))
		return
	}
	if len(sub) == 1 {
		e.findByte(text, room, sub[0], last)
		return
	}
	unused := int32(64 - 8*len(sub))
	c.Constant(asm.R4, int64(Words(sub, 8)[0]<<unused))
	// R5 is 1 until an occurrence is found.
	c.Emit(asm.Mov.Imm(asm.R0, 0), asm.Mov.Imm(asm.R5, 1))
	for i := range places {
		e.wordAt(asm.R1, asm.R2, text, room, i)
		if unused > 0 {
			c.Emit(asm.LSh.Imm(asm.R1, unused))
		}
		// R2 is 0 if sub is at byte i, else 1.
		c.Emit(asm.Xor.Reg(asm.R1, asm.R4), asm.Mov.Reg(asm.R2, asm.R1), asm.Neg.Imm(asm.R2, 0),
			asm.Or.Reg(asm.R2, asm.R1), asm.RSh.Imm(asm.R2, 63))
		if last {
			c.Emit(asm.Mul.Reg(asm.R0, asm.R2), asm.Xor.Imm(asm.R2, 1), asm.Mul.Imm(asm.R2, int32(i+1)),
				asm.Add.Reg(asm.R0, asm.R2))
		} else {
			c.Emit(asm.And.Reg(asm.R5, asm.R2), asm.Add.Reg(asm.R0, asm.R5))
		}
	}
	if last {
		c.Emit(asm.Sub.Imm(asm.R0, 1))
	} else {
		c.Emit(asm.Mul.Imm(asm.R5, int32(places+1)), asm.Sub.Reg(asm.R0, asm.R5))
	}
}

// findByte is find for a constant of one byte. It tests eight bytes at a time, with a third of the
// instructions. It overwrites R9.
func (e textCode) findByte(text int16, room int, b byte, last bool) {
	c := e.Code
	const each = uint64(0x0101010101010101)
	c.Constant(asm.R3, int64(each*0x7f))
	c.Constant(asm.R4, int64(each*uint64(b)))
	// A word in which only bit 8*k is set, multiplied by index, has k in its upper
	// three bits.
	var index uint64
	for k := range uint64(8) {
		index |= k << (61 - 8*k)
	}
	c.Constant(asm.R9, int64(index))
	c.Emit(asm.Mov.Imm(asm.R0, -1))
	for i := range room / 8 {
		// Words are tested in the order in which a later hit replaces an earlier one;
		// within a word, the lowest hit counts.
		at := 8 * i
		if !last {
			at = room - 8*(i+1)
		}
		c.Load(asm.R1, text+int16(at))
		if last {
			c.Emit(asm.HostTo(asm.BE, asm.R1, asm.DWord))
		}
		// R2 has the top bit of each byte that is the wanted one.
		c.Emit(asm.Xor.Reg(asm.R1, asm.R4), asm.Mov.Reg(asm.R2, asm.R1), asm.And.Reg(asm.R2, asm.R3),
			asm.Add.Reg(asm.R2, asm.R3), asm.Or.Reg(asm.R2, asm.R1), asm.Or.Reg(asm.R2, asm.R3),
			asm.Xor.Imm(asm.R2, -1))
		// R5 is 1 if the word has the byte, else 0; R1 is the byte's number in
		// the word, or 0.
		c.Emit(asm.Mov.Reg(asm.R1, asm.R2), asm.Neg.Imm(asm.R1, 0), asm.Mov.Reg(asm.R5, asm.R1),
			asm.Or.Reg(asm.R5, asm.R2), asm.RSh.Imm(asm.R5, 63), asm.And.Reg(asm.R1, asm.R2),
			asm.RSh.Imm(asm.R1, 7), asm.Mul.Reg(asm.R1, asm.R9), asm.RSh.Imm(asm.R1, 61))
		c.Emit(asm.Mov.Reg(asm.R2, asm.R5), asm.Xor.Imm(asm.R2, 1), asm.Mul.Reg(asm.R0, asm.R2))
		if last {
			c.Emit(asm.Mul.Imm(asm.R5, int32(at+7)), asm.Sub.Reg(asm.R5, asm.R1))
		} else {
			c.Emit(asm.Mul.Imm(asm.R5, int32(at)), asm.Add.Reg(asm.R5, asm.R1))
		}
		c.Emit(asm.Add.Reg(asm.R0, asm.R5))
	}
}

// changeCase changes the case of a text's letters in its place, eight bytes at a
// time. Bytes beyond ASCII fail. It overwrites R9.
func (e textCode) changeCase(off int16, size int, upper bool) {
	c := e.Code
	const each = uint64(0x0101010101010101)
	word := func(dst asm.Register, b byte) { c.Constant(dst, int64(each*uint64(b))) }
	first, last := byte('A'), byte('Z')
	if upper {
		first, last = 'a', 'z'
	}
	word(asm.R3, 0x80)
	word(asm.R4, 0x80-first)
	word(asm.R9, 0x80-last-1)
	for i := 0; i < size; i += 8 {
		c.Load(asm.R0, off+int16(i))
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.And.Reg(asm.R1, asm.R3))
		c.IfImm(asm.JNE, asm.R1, 0, e.Fail)
		// The top bit of each byte of R1 says that the byte is from first to last.
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.Add.Reg(asm.R1, asm.R4),
			asm.Mov.Reg(asm.R2, asm.R0), asm.Add.Reg(asm.R2, asm.R9), asm.Xor.Imm(asm.R2, -1),
			asm.And.Reg(asm.R1, asm.R2), asm.And.Reg(asm.R1, asm.R3), asm.RSh.Imm(asm.R1, 2),
			asm.Xor.Reg(asm.R0, asm.R1))
		c.Store(off+int16(i), asm.R0)
	}
}

// front copies left bytes of a text to off, from byte lo on.
func (e textCode) front(off int16, size int, text int16, room, lo, left int) {
	c := e.Code
	for i := 0; i < size; i += 8 {
		if left-i <= 0 {
			c.Zero(off+int16(i), 8)
			continue
		}
		e.wordAt(asm.R0, asm.R1, text, room, lo+i)
		if keep := left - i; keep < 8 {
			c.Emit(asm.LSh.Imm(asm.R0, int32(64-8*keep)), asm.RSh.Imm(asm.R0, int32(64-8*keep)))
		}
		c.Store(off+int16(i), asm.R0)
	}
}
