package tracefs

import (
	"fmt"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/c"
	"ppscript/runtime/expr/cexpr"
)

// This file has the functions of the kernel that print fmts call and that
// package cexpr lacks.

// printsHere is the reason, shown to the user, why programs of the kernel
// cannot compute these functions.
const printsHere = "print formats are for ppscript"

// fieldHelpers are the functions whose argument is the bare name of a field.
var fieldHelpers = map[string]bool{
	"__get_str": true, "__get_rel_str": true,
	"__get_dynamic_array": true, "__get_rel_dynamic_array": true,
	"__get_dynamic_array_len": true, "__get_rel_dynamic_array_len": true,
	"__get_bitmask": true, "__get_rel_bitmask": true,
	"__get_cpumask": true, "__get_rel_cpumask": true,
	"__get_sockaddr": true, "__get_rel_sockaddr": true,
	"__print_dynamic_array": true,
}

// sameValue are functions that return their argument: outside of the kernel,
// page table entries are plain numbers, and this machine is little-endian.
var sameValue = []string{
	"pte_val", "pmd_val", "pud_val", "p4d_val", "pgd_val",
	"native_make_pte", "native_make_pmd", "native_make_pud", "native_make_p4d", "native_make_pgd",
	"le16_to_cpu", "le32_to_cpu", "le64_to_cpu", "__le16_to_cpu", "__le32_to_cpu", "__le64_to_cpu",
}

func (b *builder) helpers() map[string]cexpr.Builtin {
	m := map[string]cexpr.Builtin{
		"__print_symbolic": {
			Usage: "__print_symbolic(x, {value, name}, ...)", Min: 1, Max: -1, Lower: b.symbols(false),
		},
		"__print_flags": {
			Usage: "__print_flags(x, delimiter, {mask, name}, ...)",
			Min:   2,
			Max:   -1,
			Lower: b.symbols(true),
		},
		"__get_sockaddr": {Usage: "__get_sockaddr(field)", Min: 1, Max: 1, Lower: lowerSockaddr},
		"__print_dynamic_array": {
			Usage: "__print_dynamic_array(field, size)", Min: 2, Max: 2, Lower: lowerDynamicArray,
		},
		"__print_hex_dump": {
			Usage: "__print_hex_dump(prefix, type, row, group, data, n, ascii)",
			Min:   7,
			Max:   7,
			Lower: lowerHexDump,
		},
		"mc_event_error_type": {Usage: "mc_event_error_type(type)", Min: 1, Max: 1, Lower: lowerErrorType},
		"nvme_trace_disk_name": {
			Usage: "nvme_trace_disk_name(p, name)", Min: 2, Max: 2, Lower: lowerDiskName,
		},
		"jiffies_to_msecs": {Usage: "jiffies_to_msecs(n)", Min: 1, Max: 1, Lower: b.jiffies(1000)},
		"jiffies_to_usecs": {Usage: "jiffies_to_usecs(n)", Min: 1, Max: 1, Lower: b.jiffies(1000_000)},
	}
	m["__print_symbolic_u64"], m["__print_symbolic64"] = m["__print_symbolic"], m["__print_symbolic"]
	m["__print_flags_u64"], m["__get_rel_sockaddr"] = m["__print_flags"], m["__get_sockaddr"]
	for _, name := range sameValue {
		m[name] = cexpr.Builtin{Usage: name + "(x)", Min: 1, Max: 1,
			Lower: func(k *cexpr.Call) (expr.Node, error) { return k.Int(0) }}
	}
	return m
}

// lowerSockaddr makes a node for the bytes of a socket address.
func lowerSockaddr(k *cexpr.Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	return expr.NewFieldView(f, expr.Self, expr.ViewBytes)
}

// lowerDynamicArray makes a node that prints all elements of a dynamic array.
func lowerDynamicArray(k *cexpr.Call) (expr.Node, error) {
	f, err := k.Field(0)
	if err != nil {
		return nil, err
	}
	size, err := k.Const(1)
	if err != nil {
		return nil, err
	}
	data, err := expr.NewFieldView(f, expr.Self, expr.ViewBytes)
	if err != nil {
		return nil, err
	}
	return &expr.Native{Name: k.Name, T: expr.TStr, Args: []expr.Node{data}, Data: size, HostOnly: printsHere,
		Str: func(f *expr.Frame, a []expr.Arg) []byte {
			count := len(a[0].S)
			if size > 0 {
				count /= int(size)
			}
			return f.Keep(appendArray(f.Scratch(), a[0].S, count, int(size)))
		}}, nil
}

// lowerHexDump makes a node that prints lines of hex.
func lowerHexDump(k *cexpr.Call) (expr.Node, error) {
	prefix, err := k.ConstStr(0)
	if err != nil {
		return nil, err
	}
	var opts [4]int64 // type, row, group, ascii
	for i, arg := range []int{1, 2, 3, 6} {
		if opts[i], err = k.Const(arg); err != nil {
			return nil, err
		}
	}
	n, err := k.IntAs(5, c.TLong)
	if err != nil {
		return nil, err
	}
	data, err := k.Bytes(4, n)
	if err != nil {
		return nil, err
	}
	return &expr.Native{Name: k.Name, T: expr.TStr, Args: []expr.Node{data}, Data: prefix,
		HostOnly: printsHere,
		Str: func(f *expr.Frame, a []expr.Arg) []byte {
			return f.Keep(appendHexDump(f.Scratch(), prefix, int(opts[0]), int(opts[1]), int(opts[2]),
				a[0].S, opts[3] != 0))
		}}, nil
}

func lowerErrorType(k *cexpr.Call) (expr.Node, error) {
	x, err := k.Int(0)
	if err != nil {
		return nil, err
	}
	return &expr.Native{Name: k.Name, T: expr.TStr, Args: []expr.Node{x}, HostOnly: printsHere,
		Str1: func(f *expr.Frame, v int64) []byte {
			return f.Keep(append(f.Scratch(), mcErrorType(uint64(v))...))
		}}, nil
}

// lowerDiskName makes a node for the text "disk=NAME, ", or "" for a command
// without a disk.
func lowerDiskName(k *cexpr.Call) (expr.Node, error) {
	name, err := k.Str(1)
	if err != nil {
		return nil, err
	}
	return &expr.Native{Name: k.Name, T: expr.TStr, Args: []expr.Node{name}, HostOnly: printsHere,
		Str: func(f *expr.Frame, a []expr.Arg) []byte {
			if len(a[0].S) == 0 {
				return nil
			}
			out := append(append(f.Scratch(), "disk="...), a[0].S...)
			return f.Keep(append(out, ", "...))
		}}, nil
}

// jiffies returns a function that converts ticks to a unit; perSecond is the
// number of units in a second.
func (b *builder) jiffies(perSecond int64) func(*cexpr.Call) (expr.Node, error) {
	return func(k *cexpr.Call) (expr.Node, error) {
		hz := int64(b.p.opt.HZ)
		if hz <= 0 {
			return nil, fmt.Errorf("%s: the kernel's timer frequency is not known", k.Name)
		}
		n, err := k.IntAs(0, c.TULong)
		if err != nil {
			return nil, err
		}
		k.As(c.TUInt)
		return &expr.Native{Name: k.Name, T: expr.TUint, Args: []expr.Node{n}, Data: hz, HostOnly: printsHere,
			Int1: func(_ *expr.Frame, v int64) int64 {
				return int64(uint32(uint64(v) * uint64(perSecond) / uint64(hz)))
			}}, nil
	}
}
