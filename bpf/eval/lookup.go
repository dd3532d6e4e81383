package eval

import (
	"maps"
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/text"
	"ppscript/runtime/expr"
)

// This file generates look-ups in constant dictionaries: the key is compared with each
// of theirs. An event whose key is not there fails, unless the dictionary has a value
// for those.

// dictMost bounds the keys that are compared: the verifier follows each of them.
const dictMost = 64

// A Finder evaluates look-ups.
type Finder struct {
	*assembler.Code
	// Num leaves the value of a number in R0, Text puts a text at a place of the stack
	// with so much room, and Room is how much one needs.
	Num  func(n expr.Node)
	Text func(at int16, size int, n expr.Node)
	Room func(n expr.Node) int
	// Fail is where an event goes whose key is not there.
	Fail assembler.Label
}

// DictOf is the dictionary of a look-up; nil if n is none.
func DictOf(n *expr.Native) *expr.Dict {
	d, _ := n.Data.(*expr.Dict)
	return d
}

// DictRoom is room for any value of a dictionary of texts.
func DictRoom(d *expr.Dict) int {
	room := 8
	for _, w := range d.Words {
		text.NoNUL(string(w))
		room = max(room, text.Pad(len(w)+1))
	}
	return room
}

// Number leaves the value of a key in R0.
func (e *Finder) Number(n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) { e.Constant(asm.R0, d.Numbers[i]) })
}

// Word puts the value of a key at off, which has room for size bytes.
func (e *Finder) Word(off int16, size int, n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) {
		e.Text(off, size, &expr.Const{T: expr.TStr, Str: string(d.Words[i])})
	})
}

// lookUp calls value to generate each of the values where its key is known to be the one.
func (e *Finder) lookUp(n *expr.Native, d *expr.Dict, value func(i int)) {
	c := e.Code
	if len(d.Ints)+len(d.Texts) > dictMost {
		assembler.Refuse("a look-up among %d keys", len(d.Ints)+len(d.Texts))
	}
	mark := c.Stack
	end := c.Label()
	each := func(at int, differs func(next assembler.Label)) {
		next := c.Label()
		differs(next)
		value(at)
		c.GoTo(end)
		c.Place(next)
	}
	if len(d.Texts) > 0 {
		key, size := e.key(n, d)
		for _, k := range slices.Sorted(maps.Keys(d.Texts)) {
			each(d.Texts[k], func(next assembler.Label) {
				for i, w := range text.Words(k, size) {
					c.Load(asm.R0, key+int16(8*i))
					c.Constant(asm.R1, int64(w))
					c.IfReg(asm.JNE, asm.R0, asm.R1, next)
				}
			})
		}
	} else {
		key := c.Alloc(8)
		e.Num(n.Args[0])
		c.Store(key, asm.R0)
		for _, k := range slices.Sorted(maps.Keys(d.Ints)) {
			each(d.Ints[k], func(next assembler.Label) {
				c.Load(asm.R0, key)
				c.Constant(asm.R1, k)
				c.IfReg(asm.JNE, asm.R0, asm.R1, next)
			})
		}
	}
	if d.Otherwise {
		value(0)
	} else {
		c.GoTo(e.Fail)
	}
	c.Place(end)
	c.Stack = mark
}

// key evaluates the key of a look-up among texts to a place of the stack.
func (e *Finder) key(n *expr.Native, d *expr.Dict) (at int16, size int) {
	size = e.Room(n.Args[0])
	for k := range d.Texts {
		text.NoNUL(k)
		size = max(size, text.Pad(len(k)+1))
	}
	at = e.Alloc(size)
	e.Text(at, size, n.Args[0])
	return at, size
}
