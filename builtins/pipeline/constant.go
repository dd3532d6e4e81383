package pipeline

import (
	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

// constantOf makes a per-event function of a value that is the same for all
// events; it has no Const if v is an expression.
func constantOf(c *b.Call, v starlark.Value) (plan.Fn, error) {
	f := plan.Fn{Text: v.String(), Pos: c.Pos()}
	var err error
	switch v := v.(type) {
	case starlark.Bool:
		f.Const = expr.NewBool(bool(v))
	case starlark.Int:
		n, _ := v.Int64() // what the declaration accepts fits
		f.Const = expr.NewInt(n)
	case value.Duration:
		f.Const, err = expr.NewQuantity(expr.NewInt(int64(v)), event.Nanos)
	case value.Size:
		f.Const = expr.NewInt(int64(v))
	}
	return f, err
}
