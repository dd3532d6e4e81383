package host

import (
	"errors"
	"strconv"

	b "ppscript/builtins"
	"ppscript/runtime/diag"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

// This file declares the functions that per-event code calls. They are
// translated like operators; package script has both ways to compute them.

const nativeCost = "2 to 10 ns in a native function, 50 ns in an interpreted one"

func natives() []*b.Builtin {
	return []*b.Builtin{ksym(), comm(), ntoh("ntohs", "16", 2, "0x5000"), ntoh("ntohl", "32", 4, "0x0100007f"), log2(), bucket(), flags(), strncmp(), userString()}
}

func log2() *b.Builtin {
	return &b.Builtin{
		Name: "log2", Group: b.Hosted, Summary: "The power of two that a number reaches.",
		Params:  []b.Param{{Name: "x", Type: b.Or(b.Int, b.Duration, b.Size), Required: true, Doc: "a number; of a duration its ns, of a size its bytes"}},
		Returns: "int", Result: "the largest n with 2**n <= x; -1 if x is below 1", Errors: "none", Source: source, Cost: nativeCost,
		Examples: []b.Example{{Code: "log2(5000)", Output: "12"}, {Code: "log2(0)", Output: "-1"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n, _ := number(c.Value("x"))
			return starlark.MakeInt64(script.Log2(n)), nil
		},
	}
}

func bucket() *b.Builtin {
	amount := b.Or(b.Int, b.Duration, b.Size)
	return &b.Builtin{
		Name: "bucket", Group: b.Hosted, Summary: "The lower bound of the bucket that a number falls into.",
		Params: []b.Param{
			{Name: "x", Type: amount, Required: true, Doc: "a number, duration or size"},
			{Name: "width", Type: amount, Doc: "width of the buckets; none: powers of two"},
		},
		Returns: "as x", Result: "a multiple of width, or a power of two, and 0 below 1", Errors: "width is of another kind, or below 1",
		Source: source, Cost: nativeCost,
		Examples: []b.Example{{Code: "bucket(700 * us)", Output: "524.288us"}, {Code: "bucket(1234, 100)", Output: "1200"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			x := c.Value("x")
			n, wrap := number(x)
			width := int64(0)
			if c.Has("width") {
				w := c.Value("width")
				if w.Type() != x.Type() {
					return nil, c.Errorf("width", "got a %s, want a %s, as x is", w.Type(), x.Type())
				}
				if width, _ = number(w); width < 1 {
					return nil, c.Errorf("width", "got %s, want more than 0", w)
				}
			}
			low, err := script.Bucket(n, width)
			return wrap(low), err
		},
	}
}

// number is a number, duration or size in its base unit, and what makes a
// value of its kind.
func number(v starlark.Value) (int64, func(int64) starlark.Value) {
	switch v := v.(type) {
	case script.Duration:
		return int64(v), func(n int64) starlark.Value { return script.Duration(n) }
	case script.Size:
		return int64(v), func(n int64) starlark.Value { return script.Size(n) }
	case starlark.Int:
		n, _ := v.Int64()
		return n, func(n int64) starlark.Value { return starlark.MakeInt64(n) }
	}
	return 0, func(n int64) starlark.Value { return starlark.MakeInt64(n) }
}

func ntoh(name, bits string, size int, example string) *b.Builtin {
	n, _ := strconv.ParseInt(example, 0, 64)
	return &b.Builtin{
		Name: name, Group: b.Hosted, Summary: "Reads a " + bits + "-bit number in network byte order.",
		Params:  []b.Param{{Name: "x", Type: b.Int, Required: true, Doc: "the number as the record has it; its low " + bits + " bits count"}},
		Returns: "int", Result: "the number with its bytes in the other order", Errors: "none", Source: source, Cost: nativeCost,
		Examples: []b.Example{{Code: name + "(" + example + ")", Output: strconv.FormatInt(script.SwapBytes(n, size), 10)}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.MakeInt64(script.SwapBytes(c.Int("x"), size)), nil
		},
	}
}

func strncmp() *b.Builtin {
	return &b.Builtin{
		Name: "strncmp", Group: b.Hosted, Summary: "Compares the first bytes of two texts.",
		Params: []b.Param{
			{Name: "a", Type: b.String, Required: true, Doc: "a text"},
			{Name: "b", Type: b.String, Required: true, Doc: "a text"},
			{Name: "n", Type: b.Int, Required: true, Unit: "bytes", Doc: "how many bytes count"},
		},
		Returns: "int", Result: "-1, 0 or 1: a comes before b, is equal, comes behind", Errors: "none", Source: source, Cost: nativeCost,
		Examples: []b.Example{{Code: `strncmp("kworker/0:1", "kworker", 7)`, Output: "0"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return starlark.MakeInt64(script.Strncmp(c.String("a"), c.String("b"), c.Int("n"))), nil
		},
	}
}

func flags() *b.Builtin {
	return &b.Builtin{
		Name: "flags", Group: b.Hosted, Summary: "The names of a number's bits.",
		Params: []b.Param{
			{Name: "x", Type: b.Int, Required: true, Doc: "a number"},
			{Name: "names", Type: b.Dict, Required: true, Doc: "{bit: name}, in any order; a key may have several bits"},
			{Name: "sep", Type: b.String, Default: starlark.String("|"), Doc: "what is between two names"},
		},
		Returns: "string", Result: "the names, lowest bit first; what has no name as a hexadecimal number", Errors: "a key is no number above 0, a name no text",
		Source: source, Cost: "10 ns and 2 ns for each name in a native function",
		Examples: []b.Example{{Code: `flags(13, {1: "READ", 4: "SYNC"})`, Output: `"READ|SYNC|0x8"`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			table, err := script.NewFlagNames(c.Value("names").(*starlark.Dict), c.String("sep"))
			if err != nil {
				return nil, c.Error("names", err, `write {1: "READ", 4: "SYNC"}`)
			}
			return starlark.String(table.Append(nil, uint64(c.Int("x")))), nil
		},
	}
}

var errOutside = errors.New("known only while events are processed")

func ksym() *b.Builtin {
	return &b.Builtin{
		Name: "ksym", Group: b.Hosted, Summary: "The kernel symbol at an address.",
		Params:  []b.Param{{Name: "address", Type: b.As(address, "int"), Required: true, Doc: "an address in the kernel, such as e.ip"}},
		Returns: "string", Result: "symbol+offset; the address if no symbol is there", Errors: "called outside per-event functions",
		Source: "/proc/kallsyms; root, or kptr_restrict = 0", Cost: "100 ns for each look-up; 20 MB once",
		Examples: []b.Example{{Code: `tracepoint("kmem:kfree").by(where = lambda e: ksym(e.call_site)).count()`, Output: "<table of where, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := script.ServicesOf(c.Thread)
			if s == nil || s.Ksym == nil {
				return nil, outside("ksym")
			}
			i := c.Value("address").(starlark.Int)
			n, ok := i.Uint64()
			if !ok {
				small, _ := i.Int64()
				n = uint64(small)
			}
			return starlark.String(s.Ksym(n)), nil
		},
	}
}

// address accepts all 64-bit numbers.
var address = b.Is("int")

func comm() *b.Builtin {
	return &b.Builtin{
		Name: "comm", Group: b.Hosted, Summary: "The name of a thread.",
		Params:  []b.Param{{Name: "tid", Type: b.Int, Required: true, Doc: "its id"}},
		Returns: "string", Result: "the name that it has when the event is processed; <...> if it is not known", Errors: "called outside per-event functions",
		Source: "comm records of the run, else /proc", Cost: "10 ns; 2 us for a thread seen first",
		Examples: []b.Example{{Code: `tracepoint("sched:sched_waking").by(waker = "comm", woken = lambda e: comm(e.pid)).count()`, Output: "<table of waker, woken, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			s := script.ServicesOf(c.Thread)
			if s == nil || s.Comm == nil {
				return nil, outside("comm")
			}
			return starlark.String(s.Comm(int32(c.Int("tid")))), nil
		},
	}
}

func outside(name string) error {
	return (&diag.Error{Op: name, Class: diag.Run, Cause: errOutside}).WithHint("call it in a function of the event: lambda e: %s(...)", name)
}
