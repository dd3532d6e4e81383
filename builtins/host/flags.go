package host

import (
	"fmt"
	"strconv"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/script/frontend"

	"go.starlark.net/starlark"
)

func flags() *b.Builtin {
	return &b.Builtin{
		Name:    "flags",
		Group:   b.Hosted,
		Summary: "The names of a number's bits.",
		Params: []b.Param{
			{Name: "x", Type: b.Int, Required: true, Doc: "a number"},
			{Name: "names", Type: b.Dict, Required: true, Doc: "{bit: name}, in any order; a key may have several bits"},
			{Name: "sep", Type: b.String, Default: starlark.String("|"), Doc: "text between two names"},
		},
		Returns:  "string",
		Result:   "the names, lowest bit first; bits without a name as a hexadecimal number",
		Errors:   "a key is no number above 0, a name no text",
		Source:   source,
		Cost:     "10 ns and 2 ns for each name in a native function",
		Examples: []b.Example{{Code: `flags(13, {1: "READ", 4: "SYNC"})`, Output: `"READ|SYNC|0x8"`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			table, err := newFlagNames(c.Value("names").(*starlark.Dict), c.String("sep"))
			if err != nil {
				return nil, c.Error("names", err, `write {1: "READ", 4: "SYNC"}`)
			}
			return starlark.String(table.append(nil, uint64(c.Int("x")))), nil
		},
		Native: &frontend.Native{Returns: frontend.TextKind, Compile: compileFlags, Pure: true},
	}
}

func compileFlags(c *frontend.NativeCall) (v frontend.NativeValue, ok bool) {
	if c.Len() < 2 || c.Len() > 3 || !c.Int(0) || c.Unit(0) != event.NoUnit {
		return v, false
	}
	names, ok := c.Const(1).(*starlark.Dict)
	if !ok {
		return v, false
	}
	sep := starlark.String("|")
	if c.Len() == 3 {
		if sep, ok = c.Const(2).(starlark.String); !ok {
			return v, false
		}
	}

	table, err := newFlagNames(names, string(sep))
	if err != nil {
		return c.Of(nil, err)
	}
	return c.Make(expr.Native{Name: "flags", T: expr.TStr, Args: []expr.Node{c.Node(0)}, Data: table,
		HostOnly: "programs of the kernel put no texts together",
		Str1: func(f *expr.Frame, x int64) []byte {
			return f.Keep(table.append(f.Scratch(), uint64(x)))
		}})
}

// flagNames has the names of bits, the lowest bits first.
type flagNames struct {
	bits  []uint64
	names []string
	sep   string
}

// newFlagNames converts a dict {bit: name}.
func newFlagNames(d *starlark.Dict, sep string) (*flagNames, error) {
	t := &flagNames{sep: sep}
	for _, kv := range d.Items() {
		i, isInt := kv[0].(starlark.Int)
		n, fits := i.Uint64()
		name, isText := kv[1].(starlark.String)
		if !isInt || !fits || n == 0 || !isText {
			return nil, fmt.Errorf("got %s: %s, want a number of bits above 0 and its name", kv[0], kv[1])
		}
		at := 0
		for at < len(t.bits) && t.bits[at] < n {
			at++
		}
		t.bits = append(t.bits[:at], append([]uint64{n}, t.bits[at:]...)...)
		t.names = append(t.names[:at], append([]string{string(name)}, t.names[at:]...)...)
	}
	return t, nil
}

// append appends the names of the bits of x; bits without a name are appended
// as a hexadecimal number.
func (t *flagNames) append(dst []byte, x uint64) []byte {
	start := len(dst)
	rest := x
	for i, b := range t.bits {
		if x&b == b {
			if len(dst) > start {
				dst = append(dst, t.sep...)
			}
			dst = append(dst, t.names[i]...)
			rest &^= b
		}
	}
	if rest != 0 || x == 0 {
		if len(dst) > start {
			dst = append(dst, t.sep...)
		}
		dst = append(dst, "0x"...)
		dst = strconv.AppendUint(dst, rest, 16)
	}
	return dst
}
