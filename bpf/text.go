package bpf

import (
	"encoding/binary"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/pattern"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file evaluates texts. A text is a place on the stack of fixed size,
// its bytes followed by zeros to the end, at least one: so that texts compare
// by words, and are keys as they are.
//
// A field whose record gives it more bytes than we have room for fails: a cut
// key would be another key.

// maxText is the room for texts whose length only the record tells, NUL
// included. The stack has 512 bytes in all.
const maxText = 128

func pad(n int) int { return (n + 7) &^ 7 }

// text puts n at off, which has room for size bytes.
func (e *eval) text(off int16, size int, n expr.Node) {
	c := e.code
	if need := e.env.room(n); need > size {
		panic("BUG: text without room")
	}
	switch n := n.(type) {
	case *expr.Const:
		if i := indexNUL(n.Str); i >= 0 {
			refuse("a text with a NUL inside")
		}
		for i, w := range words(n.Str, size) {
			c.Constant(asm.R0, int64(w))
			c.Store(off+int16(8*i), asm.R0)
		}
	case *expr.Field:
		e.textField(off, size, n)
	case *expr.LoadState:
		foldState{e}.text(off, size, n)
	case *expr.Native:
		if d := dictOf(n); d != nil {
			finder{e}.textOf(off, size, n, d)
			return
		}
		e.userText(off, size, n)
	case *expr.KernelText:
		reader{e}.text(off, size, n)
	default:
		maker{e}.madeText(off, size, n)
	}
}

func indexNUL(s string) int {
	for i := range len(s) {
		if s[i] == 0 {
			return i
		}
	}
	return -1
}

// words is s and zeros as 64-bit words.
func words(s string, size int) []uint64 {
	b := make([]byte, size)
	copy(b, s)
	ws := make([]uint64, size/8)
	for i := range ws {
		ws[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return ws
}

// textField reads a text field.
func (e *eval) textField(off int16, size int, n *expr.Field) {
	c := e.code
	at, have := e.env.saved(n)
	if at == 0 {
		at, have = e.env.slot(n)
	}
	if at != 0 {
		for i := 0; i < size; i += 8 {
			if i < have {
				c.Load(asm.R0, at+int16(i))
				c.Store(off+int16(i), asm.R0)
			} else {
				c.Zero(off+int16(i), 8)
			}
		}
		return
	}
	f := n.F
	if read := expr.ReadOf(f); read != nil {
		e.text(off, size, read)
		return
	}
	if f.Place == event.InMember && f.Member.OfProbe() {
		arguments{e}.textAt(off, size, f)
		return
	}
	if f.Place == event.InMember {
		c.Zero(off, size) // some kernels, such as 6.1, write no more than the end of the name
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, 16))
		c.Call(asm.FnGetCurrentComm)
		return
	}
	c.Zero(off, size)
	if e.hook.Raw != nil {
		e.hook.RawText(off, f.Name)
		return
	}
	if f.Place == event.InRaw {
		c.Addr(asm.R1, off)
		c.Emit(asm.Mov.Imm(asm.R2, int32(f.Size+1)), asm.Mov.Reg(asm.R3, asm.R6),
			asm.Add.Imm(asm.R3, int32(f.Offset)))
		c.Call(asm.FnProbeReadKernelStr)
		return
	}
	// Length and offset of the data; one byte more is read, the NUL.
	e.hook.Record(asm.R0, f.Offset, 4, false)
	c.Emit(asm.Mov.Reg(asm.R2, asm.R0), asm.RSh.Imm(asm.R2, 16), asm.Add.Imm(asm.R2, 1))
	c.IfImm(asm.JGT, asm.R2, maxText, e.fail)
	c.Emit(asm.And.Imm(asm.R0, 0xffff))
	if f.Place == event.RelLoc {
		c.Emit(asm.Add.Imm(asm.R0, int32(f.Offset)+4))
	}
	c.Emit(asm.Mov.Reg(asm.R3, asm.R6), asm.Add.Reg(asm.R3, asm.R0))
	c.Addr(asm.R1, off)
	c.Call(asm.FnProbeReadKernelStr)
}

// textTruth jumps to l if "n is not empty" is want.
func (e *eval) textTruth(n expr.Node, want bool, l label) {
	if k, ok := n.(*expr.Const); ok {
		if (k.Str != "") == want {
			e.code.GoTo(l)
		}
		return
	}
	mark := e.code.Stack
	off := e.alloc(n)
	e.code.Emit(asm.LoadMem(asm.R0, asm.R10, off, asm.Byte))
	e.code.IfTrue(asm.R0, want, l)
	e.code.Stack = mark
}

// alloc evaluates a text to a place of its own.
func (e *eval) alloc(n expr.Node) int16 {
	size := e.env.room(n)
	off := e.code.Alloc(size)
	e.text(off, size, n)
	return off
}

// textLen counts the bytes up to the NUL.
func (e *eval) textLen(n expr.Node) {
	c := e.code
	if k, ok := n.(*expr.Const); ok {
		c.Constant(asm.R0, int64(len(k.Str)))
		return
	}
	size := e.env.room(n)
	mark := c.Stack
	if e.env.copied(n) {
		// Who copied it knows, the NUL included.
		e.alloc(n)
		c.Emit(asm.Sub.Imm(asm.R0, 1))
		c.Stack = mark
		return
	}
	off := e.alloc(n)
	if size > 32 {
		maker{e}.length(off, size)
		c.Stack = mark
		return
	}
	done := c.Label()
	for i := range size {
		c.Emit(asm.Mov.Imm(asm.R0, int32(i)), asm.LoadMem(asm.R1, asm.R10, off+int16(i), asm.Byte))
		if i < size-1 {
			c.IfImm(asm.JEq, asm.R1, 0, done)
		}
	}
	c.Place(done)
	c.Stack = mark
}

// compareText jumps to l if the comparison's truth is want.
func (e *eval) compareText(n *expr.Binary, want bool, l label) {
	c := e.code
	mark := c.Stack
	defer func() { c.Stack = mark }()
	op := n.Op
	y, isConst := n.Y.(*expr.Const)
	switch op {
	case expr.OpGlob, expr.OpPrefix, expr.OpSuffix, expr.OpContains:
		if !isConst {
			refuse("%s of a pattern that is not a constant", op)
		}
		done := false
		if y, done = e.matchText(n.X, op, y.Str, want, l); done {
			return
		}
		op = expr.OpStrEq
	}
	switch op {
	case expr.OpStrEq, expr.OpStrNe:
		equal := want == (op == expr.OpStrEq)
		if isConst {
			e.equalConst(n.X, y.Str, equal, l)
			return
		}
		if x, ok := n.X.(*expr.Const); ok {
			e.equalConst(n.Y, x.Str, equal, l)
			return
		}
		e.equalTexts(n.X, n.Y, equal, l)
	case expr.OpStrLt, expr.OpStrLe:
		e.orderTexts(n.X, n.Y, op == expr.OpStrLe, want, l)
	default:
		refuse("operator %s on texts", op)
	}
}

// matchText jumps to l if a match's truth is want. A glob that is an equality
// is left to others: its text is returned.
func (e *eval) matchText(x expr.Node, op expr.Op, text string, want bool,
	l label) (equal *expr.Const, done bool) {
	p := &pattern.Pattern{}
	switch op {
	case expr.OpGlob:
		simple, op, ok := simpleGlob(text)
		switch {
		case ok && op == expr.OpStrEq:
			return &expr.Const{T: expr.TStr, Str: simple}, false
		case ok:
			e.prefix(x, simple, want, l)
			return nil, true
		}
		p = pattern.Glob(text)
	case expr.OpPrefix:
		e.prefix(x, text, want, l)
		return nil, true
	default:
		if indexNUL(text) >= 0 {
			refuse("a text with a NUL inside")
		}
		p.Star()
		p.Literal(text)
		if op == expr.OpContains {
			p.Star()
		}
	}
	e.matches(x, p, text, want, l)
	return nil, true
}

// simpleGlob turns a glob into an equality or a prefix, if it is one.
func simpleGlob(p string) (text string, op expr.Op, ok bool) {
	op = expr.OpStrEq
	for i := range len(p) {
		switch p[i] {
		case '*':
			for _, r := range p[i:] {
				if r != '*' {
					return "", 0, false
				}
			}
			return p[:i], expr.OpPrefix, true
		case '?', '[':
			return "", 0, false
		}
	}
	return p, op, true
}

// equalConst jumps to l if (x == s) is equal.
func (e *eval) equalConst(x expr.Node, s string, equal bool, l label) {
	c := e.code
	if k, ok := x.(*expr.Const); ok {
		if (k.Str == s) == equal {
			c.GoTo(l)
		}
		return
	}
	size := e.env.room(x)
	off := e.alloc(x)
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
	for i, w := range words(s, pad(len(s)+1)) {
		c.Load(asm.R0, off+int16(8*i))
		c.Constant(asm.R1, int64(w))
		c.IfReg(asm.JNE, asm.R0, asm.R1, to)
	}
	if equal {
		c.GoTo(l)
	}
	c.Place(differ)
}

// prefix jumps to l if "x starts with s" is want.
func (e *eval) prefix(x expr.Node, s string, want bool, l label) {
	c := e.code
	size := e.env.room(x)
	off := e.alloc(x)
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
	for i, w := range words(s, pad(len(s))) {
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

// texts evaluates two texts to places of one size.
func (e *eval) texts(x, y expr.Node) (a, b int16, size int) {
	size = max(e.env.room(x), e.env.room(y))
	a = e.code.Alloc(size)
	e.text(a, size, x)
	b = e.code.Alloc(size)
	e.text(b, size, y)
	return a, b, size
}

func (e *eval) equalTexts(x, y expr.Node, equal bool, l label) {
	c := e.code
	a, b, size := e.texts(x, y)
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

// orderTexts compares words as big-endian numbers: the zeros behind the
// shorter text make it the smaller one.
func (e *eval) orderTexts(x, y expr.Node, orEqual, want bool, l label) {
	c := e.code
	a, b, size := e.texts(x, y)
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
