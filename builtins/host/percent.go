package host

import (
	b "ppscript/builtins"

	"go.starlark.net/starlark"
)

func percent() *b.Builtin {
	amount := b.Or(b.Number, b.Is("duration"), b.Is("size"))
	return &b.Builtin{
		Name:    "percent",
		Group:   b.Hosted,
		Summary: "A part as a percentage of a whole.",
		Params: []b.Param{
			{Name: "part", Type: amount, Required: true, Doc: "a number, duration or size"},
			{Name: "whole", Type: amount, Required: true, Like: "part", Doc: "of the same kind"},
			{Name: "otherwise", Type: b.Number, Doc: "the result where whole is 0"},
		},
		Returns: "float or None",
		Result:  "100 * part / whole; None, which tables show as -, where whole is 0",
		Errors:  "whole is of another kind than part",
		Source:  source,
		Cost:    "100 ns",
		Examples: []b.Example{
			{Code: "percent(1, 8)", Output: "12.5"},
			{Code: "percent(3 * ms, 2 * s)", Output: "0.15"},
			{Code: "percent(0, 0, otherwise = 100)", Output: "100.0"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			part, whole := c.Value("part"), c.Value("whole")
			share, ok := shareOf(float(part), float(whole))
			switch {
			case ok:
				return starlark.Float(share), nil
			case c.Has("otherwise"):
				return starlark.Float(c.Float("otherwise")), nil
			}
			return starlark.None, nil
		},
	}
}

// shareOf returns part as a percentage of whole; ok is false if whole is 0.
func shareOf(part, whole float64) (share float64, ok bool) {
	if whole == 0 {
		return 0, false
	}
	return 100 * part / whole, true
}

// float converts a number, duration or size to a float in its base unit.
func float(v starlark.Value) float64 {
	if f, ok := starlark.AsFloat(v); ok {
		return f
	}
	if n, _ := number(v); n != 0 {
		return float64(n)
	}
	return 0
}
