// Package values declares the units and conversions of durations and sizes for
// scripts: 10 * ms, dur("1.5ms"), size("64k").
package values

import (
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
)

const source = "computed in ppscript; any kernel; no privilege"

// Builtins declares the constants and functions.
func Builtins() []*b.Builtin {
	units := value.Units()
	constant := func(name, summary, code, output string) *b.Builtin {
		return &b.Builtin{Name: name, Group: b.Values, Summary: summary,
			Value:    func(starlark.Value) starlark.Value { return units[name] },
			Examples: []b.Example{{Code: code, Output: output}}}
	}
	return []*b.Builtin{
		constant("ns", "One nanosecond.", "(3 * us).ns", "3000"),
		constant("us", "One microsecond.", "1500 * us", "1.5ms"),
		constant("ms", "One millisecond.", "10 * ms", "10ms"),
		constant("s", "One second.", "2 * s / (500 * ms)", "4.0"),
		constant("KiB", "1024 bytes.", "64 * KiB", "64KiB"),
		constant("MiB", "1024 KiB.", "2 * MiB / KiB", "2048.0"),
		constant("GiB", "1024 MiB.", "GiB > 500 * MiB", "True"),
		dur(), size(),
	}
}

func dur() *b.Builtin {
	return &b.Builtin{
		Name:    "dur",
		Group:   b.Values,
		Summary: "Makes a duration from text, or from a number of nanoseconds.",
		Params: []b.Param{{Name: "value", Type: b.Or(b.String, b.Int, b.Is("duration")), Required: true,
			Unit: "ns", Doc: "text with a unit, such as 1.5ms, or nanoseconds"}},
		Returns: "duration",
		Result:  "it adds to and compares with durations and times; .ns .us .ms .s are numbers",
		Errors:  "not a number; unknown unit; a fraction of a nanosecond",
		Source:  source,
		Cost:    "none if outside per-event functions",
		Examples: []b.Example{
			{Code: `dur("1.5ms")`, Output: "1.5ms"},
			{Code: `dur(2500).us`, Output: "2.5"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			switch v := c.Value("value").(type) {
			case starlark.Int:
				n, ok := v.Int64()
				if !ok {
					return nil, c.Errorf("value", "%s does not fit in 64 bits", v)
				}
				return value.Duration(n), nil
			case value.Duration:
				return v, nil
			}
			ns, err := unit.ParseDuration(c.String("value"), 1)
			if err != nil {
				return nil, c.Error("value", err, `write for example dur("10ms")`)
			}
			return value.Duration(ns), nil
		},
		Native: &frontend.Native{
			Returns: frontend.DurationKind,
			OfName:  true,
			Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
				switch {
				case c.Len() != 1:
					return v, false
				case c.Const(0) != nil:
					return c.Evaluate()
				case !c.Plain(0):
					return v, false
				}
				return c.Measured(c.Node(0), event.Nanos)
			},
		},
	}
}

func size() *b.Builtin {
	return &b.Builtin{
		Name: "size", Group: b.Values, Summary: "Makes a size from text, or from a number of bytes.",
		Params: []b.Param{{Name: "value", Type: b.Or(b.String, b.Int, b.Is("size")), Required: true,
			Unit: "bytes", Doc: "text with a unit, such as 64k, or bytes"}},
		Returns: "size", Result: "it adds to and compares with sizes; .bytes .kib .mib .gib are numbers",
		Errors: "not a number; unknown unit; a fraction of a byte",
		Source: source, Cost: "none if outside per-event functions",
		Examples: []b.Example{
			{Code: `size("64k")`, Output: "64KiB"},
			{Code: `size(1536).kib`, Output: "1.5"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			switch v := c.Value("value").(type) {
			case starlark.Int:
				n, ok := v.Int64()
				if !ok {
					return nil, fmt.Errorf("%s does not fit in 64 bits", v)
				}
				return value.Size(n), nil
			case value.Size:
				return v, nil
			}
			n, err := unit.ParseSize(c.String("value"))
			if err != nil {
				return nil, c.Error("value", err, `write for example size("64k")`)
			}
			return value.Size(n), nil
		},
		Native: &frontend.Native{
			Returns: frontend.SizeKind,
			OfName:  true,
			Compile: func(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
				if c.Len() != 1 || c.Const(0) == nil {
					return v, false
				}
				return c.Evaluate()
			},
		},
	}
}
