package pipeline

import (
	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// constantOf makes a per-event function that returns the constant v. Its Const
// is nil if v is an expression and not a constant.
func constantOf(c *b.Call, v starlark.Value) (plan.Fn, error) {
	f := plan.Fn{Text: v.String(), Pos: c.Pos()}
	var err error
	switch v := v.(type) {
	case starlark.Bool:
		f.Const = expr.NewBool(bool(v))
	case starlark.Int:
		n, _ := v.Int64() // the declared type accepts only 64 bits
		f.Const = expr.NewInt(n)
	case value.Duration:
		f.Const, err = expr.NewQuantity(expr.NewInt(int64(v)), event.Nanos)
	case value.Size:
		f.Const = expr.NewInt(int64(v))
	}
	return f, err
}
