package host

import (
	"errors"

	b "ppscript/builtins"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

// address accepts all 64-bit numbers.
var address = b.Is("int")

func ksym() *b.Builtin {
	return &b.Builtin{
		Name:    "ksym",
		Group:   b.Hosted,
		Summary: "The kernel function at an address.",
		Params: []b.Param{
			{
				Name:     "address",
				Type:     b.As(address, "int"),
				Required: true,
				Doc:      "an address in the kernel, such as e.ip",
			},
			{Name: "offset", Type: b.Bool, Default: starlark.False, Named: true, Doc: "with +OFFSET from the start of the function"},
		},
		Returns: "string",
		Result:  "the name; the address if no function is there",
		Errors:  "called outside per-event functions",
		Source:  "/proc/kallsyms; root, or kptr_restrict = 0",
		Cost:    "100 ns for each look-up; 20 MB once",
		Examples: []b.Example{
			{Code: `tracepoint("kmem:kfree").by(where = lambda e: ksym(e.call_site)).count()`, Output: "<table of where, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := frontend.ServicesOf(c.Thread)
			if s == nil || s.Ksym == nil {
				return nil, outside("ksym")
			}
			i := c.Value("address").(starlark.Int)
			n, ok := i.Uint64()
			if !ok {
				small, _ := i.Int64()
				n = uint64(small)
			}
			if c.Bool("offset") && s.KsymOffset != nil {
				return starlark.String(s.KsymOffset(n)), nil
			}
			return starlark.String(s.Ksym(n)), nil
		},
		Native: &frontend.Native{
			Returns: frontend.TextKind,
			Compile: func(c *frontend.NativeCall) (frontend.NativeValue, bool) {
				find := c.Services().Ksym
				if c.Len() != 1 || !c.Int(0) || find == nil {
					return frontend.NativeValue{}, false
				}
				return c.Of(expr.NewKsymbol(c.Node(0), find))
			},
		},
	}
}

var errOutside = errors.New("known only while events are processed")

func outside(name string) error {
	return (&diag.Error{Op: name, Class: diag.Run, Cause: errOutside}).WithHint(
		"call it in a function of the event: lambda e: %s(...)", name)
}
