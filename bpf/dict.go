package bpf

import (
	"maps"
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/textcode"
	"ppscript/runtime/expr"
)

// This file evaluates look-ups in constant dictionaries: the key is compared with each
// of theirs. An event whose key is not there fails, unless the dictionary has a value
// for those.

// dictMost bounds the keys that are compared: the verifier follows each of them.
const dictMost = 64

// A finder evaluates look-ups.
type finder struct{ *eval }

// dictOf is the dictionary of a look-up; nil if n is none.
func dictOf(n *expr.Native) *expr.Dict {
	d, _ := n.Data.(*expr.Dict)
	return d
}

// dictRoom is room for any value of a dictionary of texts.
func dictRoom(d *expr.Dict) int {
	room := 8
	for _, w := range d.Words {
		textcode.NoNUL(string(w))
		room = max(room, textcode.Pad(len(w)+1))
	}
	return room
}

// number leaves the value of a key in R0.
func (e finder) number(n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) { e.code.Constant(asm.R0, d.Numbers[i]) })
}

// textOf puts the value of a key at off, which has room for size bytes.
func (e finder) textOf(off int16, size int, n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) {
		e.text(off, size, &expr.Const{T: expr.TStr, Str: string(d.Words[i])})
	})
}

// lookUp calls value to generate each of the values where its key is known to be the one.
func (e finder) lookUp(n *expr.Native, d *expr.Dict, value func(i int)) {
	c := e.code
	if len(d.Ints)+len(d.Texts) > dictMost {
		refuse("a look-up among %d keys", len(d.Ints)+len(d.Texts))
	}
	mark := c.Stack
	end := c.Label()
	each := func(at int, differs func(next label)) {
		next := c.Label()
		differs(next)
		value(at)
		c.GoTo(end)
		c.Place(next)
	}
	if len(d.Texts) > 0 {
		key, size := e.key(n, d)
		for _, k := range slices.Sorted(maps.Keys(d.Texts)) {
			each(d.Texts[k], func(next label) {
				for i, w := range textcode.Words(k, size) {
					c.Load(asm.R0, key+int16(8*i))
					c.Constant(asm.R1, int64(w))
					c.IfReg(asm.JNE, asm.R0, asm.R1, next)
				}
			})
		}
	} else {
		key := c.Alloc(8)
		e.num(n.Args[0])
		c.Store(key, asm.R0)
		for _, k := range slices.Sorted(maps.Keys(d.Ints)) {
			each(d.Ints[k], func(next label) {
				c.Load(asm.R0, key)
				c.Constant(asm.R1, k)
				c.IfReg(asm.JNE, asm.R0, asm.R1, next)
			})
		}
	}
	if d.Otherwise {
		value(0)
	} else {
		c.GoTo(e.fail)
	}
	c.Place(end)
	c.Stack = mark
}

// key evaluates the key of a look-up among texts to a place of the stack.
func (e finder) key(n *expr.Native, d *expr.Dict) (at int16, size int) {
	size = e.env.room(n.Args[0])
	for k := range d.Texts {
		textcode.NoNUL(k)
		size = max(size, textcode.Pad(len(k)+1))
	}
	at = e.code.Alloc(size)
	e.text(at, size, n.Args[0])
	return at, size
}
