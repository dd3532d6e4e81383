package eval

import (
	"fmt"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file has the operands of the expressions that tests generate: fields that lie in the input of a
// program, as the values of an emitted event do.

// numberField is a word of the input.
func numberField(offset int, unsigned bool) *expr.Field {
	return &expr.Field{F: &event.Field{Name: fmt.Sprint("n", offset), Place: event.InSlot, Offset: offset / 8,
		Size: 8, Signed: !unsigned}}
}

// textField is a text of the input: its bytes and zeros, at least one.
func textField(offset, size int) *expr.Field {
	return &expr.Field{F: &event.Field{Name: fmt.Sprint("t", offset), Kind: event.Str, Place: event.InSlot,
		Offset: offset / 8, Size: size}}
}

// evaluator evaluates fields of the input at in, which fail where they cannot be evaluated.
func evaluator(c *assembler.Code, in int16, fail assembler.Label, fields ...*expr.Field) *Eval {
	out := &EmitScope{}
	for _, f := range fields {
		for len(out.Places) <= f.F.Offset {
			out.Places = append(out.Places, in+int16(8*len(out.Places)))
			out.Sizes = append(out.Sizes, 8)
		}
		out.Sizes[f.F.Offset] = f.F.Size
	}
	return &Eval{Code: c, Fail: fail, Env: Env{Out: out}}
}
