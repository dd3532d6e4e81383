package eval

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
)

// This file compares texts.

// equalsConst jumps to l if (the text == s) is equal.
func (e textCode) equalsConst(off int16, size int, s string, equal bool, l assembler.Label) {
	c := e.Code
	if len(s) >= size || indexNUL(s) >= 0 {
		if !equal {
			c.GoTo(l)
		}
		return
	}
	differ := c.Label()
	to := l
	if equal {
		to = differ
	}
	// Words behind the one with the NUL are zero on both sides.
	for i, w := range Words(s, Pad(len(s)+1)) {
		c.Load(asm.R0, off+int16(8*i))
		c.Constant(asm.R1, int64(w))
		c.IfReg(asm.JNE, asm.R0, asm.R1, to)
	}
	if equal {
		c.GoTo(l)
	}
	c.Place(differ)
}

// hasPrefix jumps to l if "the text starts with s" is want.
func (e textCode) hasPrefix(off int16, size int, s string, want bool, l assembler.Label) {
	c := e.Code
	if len(s) >= size || indexNUL(s) >= 0 {
		if !want {
			c.GoTo(l)
		}
		return
	}
	differ := c.Label()
	to := l
	if want {
		to = differ
	}
	for i, w := range Words(s, Pad(len(s))) {
		c.Load(asm.R0, off+int16(8*i))
		if n := len(s) - 8*i; n < 8 {
			c.Emit(asm.LSh.Imm(asm.R0, int32(64-8*n)))
			w <<= 64 - 8*n
		}
		c.Constant(asm.R1, int64(w))
		c.IfReg(asm.JNE, asm.R0, asm.R1, to)
	}
	if want {
		c.GoTo(l)
	}
	c.Place(differ)
}

// equal jumps to l if (a == b) is equal.
func (e textCode) equal(a, b int16, size int, equal bool, l assembler.Label) {
	c := e.Code
	differ := c.Label()
	to := l
	if equal {
		to = differ
	}
	for i := 0; i < size; i += 8 {
		c.Load(asm.R0, a+int16(i))
		c.Load(asm.R1, b+int16(i))
		c.IfReg(asm.JNE, asm.R0, asm.R1, to)
	}
	if equal {
		c.GoTo(l)
	}
	c.Place(differ)
}

// order compares words as big-endian numbers, and jumps to l if (a < b), or (a <= b), is
// want: the zeros behind the shorter text make it the smaller one.
func (e textCode) order(a, b int16, size int, orEqual, want bool, l assembler.Label) {
	c := e.Code
	less, notLess, end := c.Label(), c.Label(), c.Label()
	for i := 0; i < size; i += 8 {
		c.Load(asm.R0, a+int16(i))
		c.Load(asm.R1, b+int16(i))
		c.Emit(asm.HostTo(asm.BE, asm.R0, asm.DWord), asm.HostTo(asm.BE, asm.R1, asm.DWord))
		c.IfReg(asm.JLT, asm.R0, asm.R1, less)
		c.IfReg(asm.JGT, asm.R0, asm.R1, notLess)
	}
	holds := func(truth bool) {
		if truth == want {
			c.GoTo(l)
		} else {
			c.GoTo(end)
		}
	}
	holds(orEqual)
	c.Place(less)
	holds(true)
	c.Place(notLess)
	holds(false)
	c.Place(end)
}

// count leaves the length of a text in R0.
func (e textCode) count(off int16, size int) {
	c := e.Code
	if size > 32 {
		e.length(off, size)
		return
	}
	done := c.Label()
	base, from := c.Base(off, asm.R2)
	for i := range size {
		c.Emit(asm.Mov.Imm(asm.R0, int32(i)), asm.LoadMem(asm.R1, base, from+int16(i), asm.Byte))
		if i < size-1 {
			c.IfImm(asm.JEq, asm.R1, 0, done)
		}
	}
	c.Place(done)
}
