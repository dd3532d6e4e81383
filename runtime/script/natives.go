package script

import (
	"bytes"
	"fmt"
	"math/bits"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/kernel"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// This file is the builtins that run per event in both tiers: the functions
// themselves, for the interpreter, and how calls of them are lowered. Package
// builtins declares them.

// Log2 is the largest n with 2**n <= x; -1 if there is none.
func Log2(x int64) int64 {
	if x < 1 {
		return -1
	}
	return int64(bits.Len64(uint64(x))) - 1
}

// Bucket is the lower bound of the bucket that x falls into: a power of two,
// 0 below 1, or with a width the multiple of it. A width below 1 is an error.
func Bucket(x, width int64) (int64, error) {
	switch {
	case width == 0 && x < 1:
		return 0, nil
	case width == 0:
		return 1 << Log2(x), nil
	}
	q, err := floorDiv(x, width)
	if err != nil {
		return 0, err
	}
	return mulInt(q, width)
}

// SwapBytes reads the low 2 or 4 bytes of x in the other byte order.
func SwapBytes(x int64, size int) int64 {
	if size == 2 {
		return int64(bits.ReverseBytes16(uint16(x)))
	}
	return int64(bits.ReverseBytes32(uint32(x)))
}

// Strncmp compares the first n bytes of two texts: -1, 0 or 1.
func Strncmp[T string | []byte](a, b T, n int64) int64 {
	if n < 0 {
		n = 0
	}
	return int64(bytes.Compare([]byte(a[:min(int64(len(a)), n)]), []byte(b[:min(int64(len(b)), n)])))
}

// FlagNames are the names of bits, lowest bit first.
type FlagNames struct {
	Bits  []uint64
	Names []string
	Sep   string
}

// NewFlagNames reads {bit: name}.
func NewFlagNames(d *starlark.Dict, sep string) (*FlagNames, error) {
	t := &FlagNames{Sep: sep}
	for _, kv := range d.Items() {
		i, isInt := kv[0].(starlark.Int)
		n, fits := i.Uint64()
		name, isText := kv[1].(starlark.String)
		if !isInt || !fits || n == 0 || !isText {
			return nil, fmt.Errorf("got %s: %s, want a number of bits above 0 and its name", kv[0], kv[1])
		}
		at := 0
		for at < len(t.Bits) && t.Bits[at] < n {
			at++
		}
		t.Bits = append(t.Bits[:at], append([]uint64{n}, t.Bits[at:]...)...)
		t.Names = append(t.Names[:at], append([]string{string(name)}, t.Names[at:]...)...)
	}
	return t, nil
}

// Append appends the names of x's bits; what has no name is a hex number.
func (t *FlagNames) Append(dst []byte, x uint64) []byte {
	start := len(dst)
	rest := x
	for i, b := range t.Bits {
		if x&b == b {
			if len(dst) > start {
				dst = append(dst, t.Sep...)
			}
			dst = append(dst, t.Names[i]...)
			rest &^= b
		}
	}
	if rest != 0 || x == 0 {
		if len(dst) > start {
			dst = append(dst, t.Sep...)
		}
		dst = append(dst, "0x"...)
		dst = strconv.AppendUint(dst, rest, 16)
	}
	return dst
}

const servicesKey = "ppscript.services"

// ServicesOf is what builtins of a per-event function may ask the outside
// for; nil outside of one.
func ServicesOf(t *starlark.Thread) *expr.Services {
	if s, ok := t.Local(servicesKey).(*expr.Services); ok {
		return s
	}
	if h := HostOf(t); h != nil {
		return h.services
	}
	return nil
}

// lowerBuiltin lowers a call of a builtin; ok is false if it has no rule.
func (s *scopeOf) lowerBuiltin(e *syntax.CallExpr, f starlark.Callable, args []val) (v val, ok bool) {
	name := f.Name()
	_, own := s.host.opts.Predeclared[name]
	var node expr.Node
	var err error
	unit := event.NoUnit
	switch {
	case starlark.Universe[name] == f:
		return s.lowerUniversal(e, name, args)
	case !own || s.host.opts.Predeclared[name] != f:
		return val{}, false
	}
	x := func(i int) expr.Node { return s.nodeOf(e.Lparen, args[i]) }
	plain := func(i int) bool {
		return i < len(args) && isInt(args[i]) && unitOf(args[i]) == event.NoUnit && !x(i).Type().Unsigned
	}
	sv := &s.sc.Services
	switch name {
	case "log2":
		if len(args) != 1 || !isInt(args[0]) || x(0).Type().Unsigned {
			return val{}, false
		}
		node, err = expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: []expr.Node{x(0)},
			Int1: func(_ *expr.Frame, x int64) int64 { return Log2(x) }})
	case "bucket":
		if len(args) < 1 || len(args) > 2 || !isInt(args[0]) || x(0).Type().Unsigned || unitOf(args[0]) == event.Moment {
			return val{}, false
		}
		unit = unitOf(args[0])
		width := int64(0)
		if len(args) == 2 {
			var fits bool
			if args[1].c == nil || unitOf(args[1]) != unit {
				return val{}, false
			}
			if width, fits = toWord(args[1].c); !fits || width < 1 {
				return val{}, false
			}
		}
		node, err = expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: []expr.Node{x(0)}, Data: width,
			Int1: func(f *expr.Frame, x int64) int64 {
				b, err := Bucket(x, width)
				if err != nil {
					f.Fail(expr.ErrOverflow)
				}
				return b
			}})
	case "ntohs", "ntohl":
		if len(args) != 1 || !plain(0) {
			return val{}, false
		}
		size := map[string]int{"ntohs": 2, "ntohl": 4}[name]
		node, err = expr.NewNative(expr.Native{Name: "bswap", T: expr.TInt, Args: []expr.Node{x(0)}, Data: size,
			Int1: func(_ *expr.Frame, x int64) int64 { return SwapBytes(x, size) }})
	case "strncmp":
		if len(args) != 3 || !isText(args[0]) || !isText(args[1]) || !plain(2) {
			return val{}, false
		}
		node, err = expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: []expr.Node{x(0), x(1), x(2)},
			Int: func(_ *expr.Frame, a []expr.Arg) int64 { return Strncmp(a[0].S, a[1].S, a[2].I) }})
	case "dur", "size":
		if len(args) != 1 {
			return val{}, false
		}
		if args[0].c != nil {
			c, err := starlark.Call(&starlark.Thread{Name: name}, f, starlark.Tuple{args[0].c}, nil)
			s.must(e.Lparen, err)
			return val{c: c}, true
		}
		if name == "size" || !plain(0) {
			return val{}, false
		}
		return val{node: x(0), unit: event.Nanos}, true
	case "flags":
		return s.lowerFlags(e, args)
	case "ksym":
		if len(args) != 1 || !isInt(args[0]) || sv.Ksym == nil {
			return val{}, false
		}
		fn := sv.Ksym
		node, err = expr.NewNative(expr.Native{Name: "ksymbol", T: expr.TStr, Args: []expr.Node{x(0)},
			Str1: func(_ *expr.Frame, x int64) []byte { return textView(fn(uint64(x))) }})
	case "comm":
		if len(args) != 1 || !plain(0) || sv.Comm == nil {
			return val{}, false
		}
		fn := sv.Comm
		node, err = expr.NewNative(expr.Native{Name: "comm_get", T: expr.TStr, Args: []expr.Node{x(0)},
			Str1: func(_ *expr.Frame, x int64) []byte { return textView(fn(int32(x))) }})
	case "syscall_name":
		if len(args) != 1 || !plain(0) {
			return val{}, false
		}
		node, err = expr.NewNative(expr.Native{Name: "syscall_name", T: expr.TStr, Args: []expr.Node{x(0)},
			Str1: func(_ *expr.Frame, x int64) []byte { return textView(kernel.SyscallName(runtime.GOARCH, x)) }})
	case expr.UserText:
		return s.lowerUserText(e, args)
	default:
		return val{}, false
	}
	s.must(e.Lparen, err)
	return val{node: node, unit: unit}, true
}

// lowerUserText is user_string(address[, instead]); what is a text already, is
// itself.
func (s *scopeOf) lowerUserText(e *syntax.CallExpr, args []val) (val, bool) {
	var instead *expr.Const
	if len(args) == 2 {
		text, ok := args[1].c.(starlark.String)
		if !ok {
			return val{}, false
		}
		instead = expr.NewStr(string(text)).(*expr.Const)
	}
	switch {
	case len(args) < 1 || len(args) > 2:
		return val{}, false
	case isText(args[0]):
		return args[0], true
	case !isInt(args[0]) || unitOf(args[0]) != event.NoUnit:
		return val{}, false
	}
	n, err := expr.NewUserText(s.nodeOf(e.Lparen, args[0]), instead)
	s.must(e.Lparen, err)
	return val{node: n}, true
}

func (s *scopeOf) lowerFlags(e *syntax.CallExpr, args []val) (val, bool) {
	if len(args) < 2 || len(args) > 3 || !isInt(args[0]) || unitOf(args[0]) != event.NoUnit {
		return val{}, false
	}
	d, ok := args[1].c.(*starlark.Dict)
	sep := "|"
	if len(args) == 3 {
		t, text := args[2].c.(starlark.String)
		ok = ok && text
		sep = string(t)
	}
	if !ok {
		return val{}, false
	}
	table, err := NewFlagNames(d, sep)
	s.must(e.Lparen, err)
	n, err := expr.NewNative(expr.Native{Name: "flags", T: expr.TStr, Args: []expr.Node{s.nodeOf(e.Lparen, args[0])}, Data: table,
		Str1: func(f *expr.Frame, x int64) []byte { return f.Keep(table.Append(f.Scratch(), uint64(x))) }})
	s.must(e.Lparen, err)
	return val{node: n}, true
}

// lowerUniversal lowers Starlark's own functions.
func (s *scopeOf) lowerUniversal(e *syntax.CallExpr, name string, args []val) (val, bool) {
	x := func(i int) expr.Node { return s.nodeOf(e.Lparen, args[i]) }
	constant := len(args) > 0
	for _, a := range args {
		constant = constant && a.c != nil
	}
	if constant {
		switch name {
		case "len", "bool", "int", "str", "min", "max", "abs", "range", "float", "tuple", "sorted", "reversed", "enumerate", "zip", "list":
			vs := make(starlark.Tuple, len(args))
			for i, a := range args {
				vs[i] = a.c
			}
			v, err := starlark.Call(&starlark.Thread{Name: name}, starlark.Universe[name], vs, nil)
			s.must(e.Lparen, err)
			return val{c: v}, true
		}
		return val{}, false
	}
	var n expr.Node
	var err error
	switch name {
	case "bool":
		if len(args) == 1 {
			return val{node: s.truth(e.Lparen, args[0])}, true
		}
		return val{}, false
	case "len":
		if len(args) != 1 || !isText(args[0]) {
			return val{}, false
		}
		n, err = expr.NewUnary(expr.OpStrLen, x(0))
	case "int":
		switch {
		case len(args) == 1 && isInt(args[0]) && unitOf(args[0]) == event.NoUnit:
			n = x(0)
		case len(args) == 1 && isBool(args[0]):
			n, err = expr.NewUnary(expr.OpToInt, x(0))
		default:
			return val{}, false
		}
	case "abs":
		if len(args) != 1 || !isInt(args[0]) || unitOf(args[0]) != event.NoUnit || x(0).Type().Unsigned {
			return val{}, false
		}
		n, err = expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: []expr.Node{x(0)},
			Int1: func(f *expr.Frame, x int64) int64 {
				if x == -x && x != 0 {
					f.Fail(expr.ErrOverflow)
				}
				return max(x, -x)
			}})
	case "min", "max":
		return s.extreme(e, name, args)
	case "str":
		return s.str(e, args)
	default:
		return val{}, false
	}
	s.must(e.Lparen, err)
	return val{node: n}, true
}

// extreme is min or max of numbers of one unit.
func (s *scopeOf) extreme(e *syntax.CallExpr, name string, args []val) (val, bool) {
	if len(args) < 2 {
		return val{}, false
	}
	nodes := make([]expr.Node, len(args))
	for i, a := range args {
		if !isInt(a) || unitOf(a) != unitOf(args[0]) {
			return val{}, false
		}
		if nodes[i] = s.nodeOf(e.Lparen, a); nodes[i].Type().Unsigned {
			return val{}, false
		}
	}
	low := name == "min"
	n, err := expr.NewNative(expr.Native{Name: name, T: expr.TInt, Args: nodes, Int: func(_ *expr.Frame, a []expr.Arg) int64 {
		best := a[0].I
		for _, x := range a[1:] {
			if low && x.I < best || !low && x.I > best {
				best = x.I
			}
		}
		return best
	}})
	s.must(e.Lparen, err)
	return val{node: n, unit: unitOf(args[0])}, true
}

// str is the text of a number or text.
func (s *scopeOf) str(e *syntax.CallExpr, args []val) (val, bool) {
	if len(args) != 1 || unitOf(args[0]) != event.NoUnit {
		return val{}, false
	}
	x := s.nodeOf(e.Lparen, args[0])
	var n expr.Node
	var err error
	switch {
	case isText(args[0]):
		return args[0], true
	case isInt(args[0]) && x.Type().Unsigned:
		n, err = expr.NewNative(expr.Native{Name: "str", T: expr.TStr, Args: []expr.Node{x}, Data: true,
			Str1: func(f *expr.Frame, x int64) []byte { return f.Keep(strconv.AppendUint(f.Scratch(), uint64(x), 10)) }})
	case isInt(args[0]):
		n, err = expr.NewNative(expr.Native{Name: "str", T: expr.TStr, Args: []expr.Node{x},
			Str1: func(f *expr.Frame, x int64) []byte { return f.Keep(strconv.AppendInt(f.Scratch(), x, 10)) }})
	default:
		return val{}, false
	}
	s.must(e.Lparen, err)
	return val{node: n}, true
}

// concat is x + y of texts.
func (s *scopeOf) concat(at syntax.Position, x, y val) val {
	return s.sequenced(at, []val{x, y}, func(v []val) val {
		n, err := expr.NewNative(expr.Native{Name: "concat", T: expr.TStr, Args: []expr.Node{s.nodeOf(at, v[0]), s.nodeOf(at, v[1])},
			Str: func(f *expr.Frame, a []expr.Arg) []byte {
				return f.Keep(append(append(f.Scratch(), a[0].S...), a[1].S...))
			}})
		s.must(at, err)
		return val{node: n}
	})
}

// textView is the bytes of a text, not to be written.
func textView(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// builtinKind is the kind of what a builtin returns, as far as it is known.
func builtinKind(f starlark.Callable, args []role) kind {
	first := kindUnknown
	if len(args) > 0 {
		first = args[0].kind
	}
	switch f.Name() {
	case "len", "log2", "ntohs", "ntohl", "strncmp", "int", "syscall_number", "hash", "ord":
		return kindInt
	case "str", "repr", "fmt", "ksym", "comm", "flags", "syscall_name", "type", "chr", expr.UserText:
		return kindText
	case "bool", "any", "all", "hasattr":
		return kindBool
	case "float":
		return kindFloat
	case "dur":
		return kindNanos
	case "size":
		return kindSize
	case "abs", "bucket":
		return first
	case "min", "max":
		k := kindUnknown
		for _, a := range args {
			k = joinKinds(k, a.kind)
		}
		if k >= kindMixed {
			return kindUnknown
		}
		return k
	}
	return kindUnknown
}

// methodKind is the kind of what x.name(args) returns.
func methodKind(x role, name string, args []role) kind {
	switch {
	case x.events != nil && (strings.TrimPrefix(name, "_") == "symbolic" || strings.TrimPrefix(name, "_") == "text"):
		return kindText
	case x.kind == kindText:
		switch name {
		case "startswith", "endswith", "isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "istitle":
			return kindBool
		case "find", "rfind", "index", "rindex", "count":
			return kindInt
		case "upper", "lower", "strip", "lstrip", "rstrip", "replace", "join", "format", "capitalize", "title", "removeprefix", "removesuffix":
			return kindText
		}
	case name == "get" && x.c != nil:
		d, ok := x.c.(*starlark.Dict)
		if !ok {
			return kindUnknown
		}
		k := kindUnknown
		for _, kv := range d.Items() {
			k = joinKinds(k, kindOf(kv[1]))
		}
		if len(args) > 1 {
			k = joinKinds(k, args[1].kind)
		}
		return k
	}
	return kindUnknown
}
