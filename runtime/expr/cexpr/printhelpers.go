package cexpr

import (
	"encoding/hex"
	"maps"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
)

// addPrintHelpers adds the functions that the kernel's print fmts call. Their
// output is the same as the kernel's, byte for byte.
func addPrintHelpers(m map[string]Builtin) {
	maps.Copy(m, map[string]Builtin{
		"__get_str":                   {"__get_str(field)", 1, 1, lowerGetStr},
		"__get_rel_str":               {"__get_rel_str(field)", 1, 1, lowerGetStr},
		"__get_dynamic_array":         {"__get_dynamic_array(field)", 1, 1, lowerDynamicArray},
		"__get_rel_dynamic_array":     {"__get_rel_dynamic_array(field)", 1, 1, lowerDynamicArray},
		"__get_dynamic_array_len":     {"__get_dynamic_array_len(field)", 1, 1, lowerDynamicLen},
		"__get_rel_dynamic_array_len": {"__get_rel_dynamic_array_len(field)", 1, 1, lowerDynamicLen},
		"__get_bitmask":               {"__get_bitmask(field)", 1, 1, lowerMask},
		"__get_rel_bitmask":           {"__get_rel_bitmask(field)", 1, 1, lowerMask},
		"__get_cpumask":               {"__get_cpumask(field)", 1, 1, lowerMask},
		"__get_rel_cpumask":           {"__get_rel_cpumask(field)", 1, 1, lowerMask},
		"__print_symbolic":            {"__print_symbolic(x, {value, name}, ...)", 2, -1, lowerSymbolic},
		"__print_symbolic_u64":        {"__print_symbolic_u64(x, {value, name}, ...)", 2, -1, lowerSymbolic},
		"__print_flags":               {"__print_flags(x, delimiter, {mask, name}, ...)", 3, -1, lowerFlags},
		"__print_flags_u64": {
			"__print_flags_u64(x, delimiter, {mask, name}, ...)", 3, -1, lowerFlags,
		},
		"__print_hex":        {"__print_hex(pointer, n)", 2, 2, lowerHex(' ')},
		"__print_hex_str":    {"__print_hex_str(pointer, n)", 2, 2, lowerHex(0)},
		"__print_array":      {"__print_array(pointer, count, size)", 3, 3, lowerArray},
		"__print_ns_to_secs": {"__print_ns_to_secs(x)", 1, 1, lowerNsPart(expr.OpDivU, 1_000_000_000)},
		"__print_ns_without_secs": {
			"__print_ns_without_secs(x)", 1, 1, lowerNsPart(expr.OpModU, 1_000_000_000),
		},
		"__builtin_expect": {
			"__builtin_expect(x, likely)", 2, 2,
			func(k *Call) (expr.Node, error) { return k.IntAs(0, c.TLong) },
		},
		"__builtin_constant_p": {
			"__builtin_constant_p(x)", 1, 1, func(*Call) (expr.Node, error) { return expr.NewInt(0), nil },
		},
	})
}

func lowerGetStr(k *Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	if f.Kind == event.Str {
		return expr.NewField(f, expr.Self), nil
	}
	b, err := expr.NewFieldView(f, expr.Self, expr.ViewBytes)
	if err != nil {
		return nil, k.Errorf(0, "%v", err)
	}
	return b, nil
}

func lowerDynamicArray(k *Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	off, err := expr.NewFieldView(f, expr.Self, expr.ViewOffset)
	if err != nil {
		return nil, k.Errorf(0, "%v", err)
	}
	k.As(c.PtrTo(c.TVoid))
	if f.Kind == event.Str {
		k.As(tCharPtr)
	}
	return expr.NewBinary(expr.OpAdd, expr.RecordAddr(expr.Self), off)
}

func lowerDynamicLen(k *Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	n, err := expr.NewFieldView(f, expr.Self, expr.ViewLen)
	if err != nil {
		return nil, k.Errorf(0, "%v", err)
	}
	k.As(c.TInt)
	return n, nil
}

// pairs reads {value, "name"} lists from argument i on.
func pairs(k *Call, i int) (*event.Symbols, error) {
	s := &event.Symbols{Names: map[uint64]string{}}
	for ; i < len(k.Args); i++ {
		list, err := k.List(i)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break // an empty table has only its end
		}
		if len(list) != 2 {
			return nil, k.Errorf(i, "got %d members, want a value and a name", len(list))
		}
		name, ok := list[1].(*c.String)
		if !ok {
			// { 0, NULL } is the end, if no macro has hidden it.
			if null, err := k.ConstOf(list[1]); err == nil && null == 0 {
				break
			}
			return nil, k.l.errorf(list[1], "%s: want a name in quotes", k.Name)
		}
		v, err := k.ConstOf(list[0])
		if err != nil {
			return nil, err
		}
		// The kernel keeps values as unsigned long. The first name wins.
		if _, dup := s.Names[uint64(v)]; !dup {
			s.Names[uint64(v)] = name.Value
			s.Order = append(s.Order, uint64(v))
		}
	}
	return s, nil
}

func lowerSymbolic(k *Call) (expr.Node, error) {
	x, err := k.IntAs(0, c.TULong)
	if err != nil {
		return nil, err
	}
	s, err := pairs(k, 1)
	if err != nil {
		return nil, err
	}
	return expr.Symbolic(x, s)
}

func lowerFlags(k *Call) (expr.Node, error) {
	x, err := k.IntAs(0, c.TULong)
	if err != nil {
		return nil, err
	}
	delim, err := k.ConstStr(1)
	if err != nil {
		return nil, err
	}
	s, err := pairs(k, 2)
	if err != nil {
		return nil, err
	}
	s.Flags, s.Delim = true, delim
	return expr.Symbolic(x, s)
}

// lowerHex prints bytes in hex with a separator; sep 0 means none.
func lowerHex(sep byte) func(*Call) (expr.Node, error) {
	return func(k *Call) (expr.Node, error) {
		n, err := k.IntAs(1, c.TInt)
		if err != nil {
			return nil, err
		}
		b, err := k.Bytes(0, n)
		if err != nil {
			return nil, err
		}
		return expr.NewNative(expr.Native{Name: "hex", T: expr.TStr, Args: []expr.Node{b}, Data: sep,
			HostOnly: expr.TextsHere,
			Str: func(f *expr.Frame, a []expr.Arg) []byte {
				out := f.Scratch()
				for i, x := range a[0].S {
					if i > 0 && sep != 0 {
						out = append(out, sep)
					}
					out = hex.AppendEncode(out, []byte{x})
				}
				return f.Keep(out)
			}})
	}
}

// lowerArray prints {0x1,0x2}.
func lowerArray(k *Call) (expr.Node, error) {
	n, err := k.IntAs(1, c.TInt)
	if err != nil {
		return nil, err
	}
	size, err := k.Const(2)
	if err != nil {
		return nil, err
	}
	switch size {
	case 1, 2, 4, 8:
	default:
		return nil, k.Errorf(2, "got %d bytes an element, want 1, 2, 4 or 8", size)
	}
	all, err := expr.NewBinary(expr.OpMul, n, expr.NewInt(size))
	if err != nil {
		return nil, err
	}
	b, err := k.Bytes(0, all)
	if err != nil {
		return nil, err
	}
	return expr.NewNative(expr.Native{Name: "array", T: expr.TStr, Args: []expr.Node{b}, Data: int(size),
		HostOnly: expr.TextsHere,
		Str: func(f *expr.Frame, a []expr.Arg) []byte {
			out := append(f.Scratch(), '{')
			for s := a[0].S; len(s) >= int(size); s = s[size:] {
				if len(out) > 1 {
					out = append(out, ',')
				}
				v, _ := event.LoadInt(s[:size], false)
				out = strconv.AppendUint(append(out, "0x"...), uint64(v), 16)
			}
			return f.Keep(append(out, '}'))
		}})
}

// lowerNsPart returns the seconds in a number of ns, or the remaining ns.
func lowerNsPart(op expr.Op, by uint64) func(*Call) (expr.Node, error) {
	return func(k *Call) (expr.Node, error) {
		x, err := k.IntAs(0, c.TULong)
		if err != nil {
			return nil, err
		}
		return expr.NewBinary(op, x, expr.NewUint(by))
	}
}
