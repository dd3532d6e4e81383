package host

import (
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"

	"go.starlark.net/starlark"
)

func evaluate() *b.Builtin {
	return &b.Builtin{
		Name:    "evaluate",
		Group:   b.Hosted,
		Summary: "Evaluates a C expression of constants.",
		Params: []b.Param{
			{Name: "text", Type: b.String, Required: true, Doc: "the expression, with C's operators, types and rules; functions that need a run (comm_get, ksymbol) give an empty text"},
			{Name: "name", Type: b.Or(b.Int, b.String), Rest: "**", Doc: "variables of the expression: name = value"},
		},
		Returns: "int, string or float",
		Result:  "its value, wrapped to C's types; what it prints with printf, if it does",
		Errors:  "what is wrong with the expression, with its place; division by zero",
		Source:  source,
		Cost:    "a few us",
		Examples: []b.Example{
			{Code: `evaluate("(char)300 + (1 << 4)")`, Output: "60"},
			{Code: `evaluate("printf(\"cpu %d\", key >> 8)", key = 515)`, Output: `"cpu 2"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			vars := map[string]expr.Node{}
			for _, kv := range c.KW {
				name := string(kv[0].(starlark.String))
				switch v := kv[1].(type) {
				case starlark.String:
					vars[name] = expr.NewStr(string(v))
				case starlark.Int:
					n, ok := v.Int64()
					if u, large := v.Uint64(); !ok && large {
						n = int64(u)
					}
					vars[name] = expr.NewInt(n)
				}
			}
			p, err := cexpr.Compile(c.String("text"), &expr.Scope{Vars: vars, Services: services(c)})
			if err != nil {
				return nil, err
			}
			var f expr.Frame
			var printed strings.Builder
			f.Reset(nil)
			f.Out = &printed
			v := p.Value(&f)
			if f.Err != nil {
				return nil, c.Errorf("text", "%v", f.Err)
			}
			if printed.Len() > 0 {
				return starlark.String(printed.String()), nil
			}
			return value.ToStarlark(v), nil
		},
	}
}

// services returns the services of the run, for functions in the expression. Before the
// run begins, they return empty texts.
func services(c *b.Call) expr.Services {
	if s := frontend.ServicesOf(c.Thread); s != nil {
		return *s
	}
	return expr.Services{
		Ksym:        func(uint64) string { return "" },
		KsymOffset:  func(uint64) string { return "" },
		Comm:        func(int32) string { return "" },
		SyscallName: func(int64) string { return "" },
		ExitReason:  func(int64, int64) string { return "" },
	}
}
