package bpftest

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Leaves evaluate constants, and fields that lie in the input of a program OnStack: the operands of
// the expressions that a test generates.
type Leaves struct {
	*assembler.Code
	In int16
}

// NumberField is a word of the input.
func NumberField(offset int, unsigned bool) *expr.Field {
	return &expr.Field{F: &event.Field{Name: fmt.Sprint("n", offset), Offset: offset, Size: 8,
		Signed: !unsigned}}
}

// TextField is a text of the input: its bytes and zeros, at least one.
func TextField(offset, size int) *expr.Field {
	return &expr.Field{F: &event.Field{Name: fmt.Sprint("t", offset), Kind: event.Str, Offset: offset,
		Size: size}}
}

// Leaf reports that a number is a constant or a field.
func (l Leaves) Leaf(n expr.Node) bool {
	switch n.(type) {
	case *expr.Const, *expr.Field:
		return n.Type().Numeric()
	}
	return false
}

// Field loads a number of the input.
func (l Leaves) Field(dst asm.Register, f *expr.Field) { l.Load(dst, l.In+int16(f.F.Offset)) }

// Num leaves a number in R0.
func (l Leaves) Num(n expr.Node) {
	switch n := n.(type) {
	case *expr.Const:
		l.Constant(asm.R0, n.Int)
	case *expr.Field:
		l.Field(asm.R0, n)
	default:
		panic(fmt.Sprintf("BUG: %s is no leaf", n))
	}
}

// Text puts a text at a place of the stack with so much room.
func (l Leaves) Text(at int16, size int, n expr.Node) {
	switch n := n.(type) {
	case *expr.Const:
		for i, w := range wordsOf(Text(n.Str, size)) {
			l.Constant(asm.R0, int64(w))
			l.Store(at+int16(8*i), asm.R0)
		}
	case *expr.Field:
		for i := 0; i < size; i += 8 {
			if i >= n.F.Size {
				l.Zero(at+int16(i), 8)
				continue
			}
			l.Load(asm.R0, l.In+int16(n.F.Offset+i))
			l.Store(at+int16(i), asm.R0)
		}
	default:
		panic(fmt.Sprintf("BUG: %s is no leaf", n))
	}
}

// Room is the room that a text needs.
func (l Leaves) Room(n expr.Node) int {
	switch n := n.(type) {
	case *expr.Const:
		return (len(n.Str) + 8) &^ 7
	case *expr.Field:
		return n.F.Size
	}
	panic(fmt.Sprintf("BUG: %s is no leaf", n))
}

// Text is a text as it lies in the input.
func Text(s string, size int) []byte {
	b := make([]byte, size)
	copy(b[:size-1], s)
	return b
}
