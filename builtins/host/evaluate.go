package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

func evaluate() *b.Builtin {
	return &b.Builtin{
		Name: "evaluate", Group: b.Hosted, Summary: "Evaluates a C expression of constants.",
		Params:  []b.Param{{Name: "text", Type: b.String, Required: true, Doc: "the expression, with C's operators, types and rules"}},
		Returns: "int, string or float", Result: "its value, wrapped to C's types", Errors: "what is wrong with the expression, with its place; division by zero",
		Source: source, Cost: "a few us",
		Examples: []b.Example{{Code: `evaluate("(char)300 + (1 << 4)")`, Output: "60"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			p, err := expr.CompileC(c.String("text"), &expr.Scope{})
			if err != nil {
				return nil, err
			}
			var f expr.Frame
			f.Reset(nil)
			v := p.Value(&f)
			if f.Err != nil {
				return nil, c.Errorf("text", "%v", f.Err)
			}
			return script.ToStarlark(v), nil
		},
	}
}
