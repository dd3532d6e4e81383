package eval

import (
	"maps"
	"slices"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/expr"
)

// This file generates look-ups in constant dictionaries: the key is compared with each
// key of the dictionary. An event whose key is not there fails, unless the dictionary has a default
// value.

// dictMost bounds the keys of a dictionary: the verifier follows each
// comparison.
const dictMost = 64

// dictRoom is room for any value of a dictionary of texts.
func dictRoom(d *expr.Dict) int {
	room := 8
	for _, w := range d.Words {
		NoNUL(string(w))
		room = max(room, Pad(len(w)+1))
	}
	return room
}

// lookUpNumber leaves the value of a key in R0.
func (e *Eval) lookUpNumber(n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) { e.Code.Constant(asm.R0, d.Numbers[i]) })
}

// lookUpText writes the value of a key to off, which has room for size bytes.
func (e *Eval) lookUpText(off int16, size int, n *expr.Native, d *expr.Dict) {
	e.lookUp(n, d, func(i int) {
		e.Text(off, size, &expr.Const{T: expr.TStr, Str: string(d.Words[i])})
	})
}

// lookUp compares the key with each key of the dictionary. value generates the code that
// runs if key i is equal.
func (e *Eval) lookUp(n *expr.Native, d *expr.Dict, value func(i int)) {
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
		key, size := e.dictKey(n, d)
		for _, k := range slices.Sorted(maps.Keys(d.Texts)) {
			each(d.Texts[k], func(next assembler.Label) {
				for i, w := range Words(k, size) {
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

// dictKey evaluates the key of a look-up among texts to a place of the stack.
func (e *Eval) dictKey(n *expr.Native, d *expr.Dict) (at int16, size int) {
	size = e.Env.Room(n.Args[0])
	for k := range d.Texts {
		NoNUL(k)
		size = max(size, Pad(len(k)+1))
	}
	at = e.Code.Alloc(size)
	e.Text(at, size, n.Args[0])
	return at, size
}
