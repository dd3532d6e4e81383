package host

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/script"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

func tryBuiltin() *b.Builtin {
	return &b.Builtin{
		Name:    "try_",
		Group:   b.Hosted,
		Summary: "Calls a function and returns its failure instead of failing.",
		Params: []b.Param{
			{Name: "fn", Type: b.Func, Required: true, Doc: "what to call"},
			{Name: "args", Type: b.Any, Rest: "*", Doc: "its arguments"},
			{Name: "kwargs", Type: b.Any, Rest: "**", Doc: "its named arguments"},
		},
		Returns: "struct(ok, value, error)",
		Result:  "value is what fn returned, None if it failed; error is the message, None if it did not",
		Errors:  "fn cannot be called; an interrupt and the step limit are not caught",
		Source:  source,
		Cost:    "one call",
		Examples: []b.Example{
			{Code: `try_(int, "7").value`, Output: "7"},
			{Code: `try_(dur, "7 parsecs").error`,
				Output: `"dur value: \"7 parsecs\": unknown unit \"parsecs\"; want ns, us, ms, s, m or h"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			v, err := starlark.Call(c.Thread, c.Func("fn"), c.Rest, c.KW)
			// Errors that must end the script cannot be caught: a loop around
			// try_ would otherwise never end.
			if err != nil && script.Stopped(c.Thread) {
				return nil, err
			}
			r := starlark.StringDict{
				"ok": starlark.Bool(err == nil), "value": starlark.None, "error": starlark.None,
			}
			if err != nil {
				r["error"] = starlark.String(message(err))
			} else {
				r["value"] = v
			}
			return starlarkstruct.FromStringDict(starlarkstruct.Default, r), nil
		},
	}
}

func message(err error) string {
	var d *diag.Error
	if errors.As(err, &d) {
		return d.Error()
	}
	return err.Error()
}
