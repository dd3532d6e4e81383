package host

import (
	"fmt"
	"strconv"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack/symbol"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

const mostKernelBytes = 1 << 20

func readKernel() *b.Builtin {
	return &b.Builtin{
		Name:    "read_kernel",
		Group:   b.Hosted,
		Summary: "Bytes of the kernel's memory, as they are now.",
		Params: []b.Param{
			{Name: "place", Type: b.Or(b.String, b.Int), Required: true, Doc: "an address, or a symbol with an offset: jiffies, init_task+0x10"},
			{Name: "size", Type: b.Int, Required: true, Unit: "bytes", Doc: "how many, at most a million"},
		},
		Returns:  "struct(address, data)",
		Result:   "the address that the place has, and a list of the bytes as numbers",
		Errors:   "no such symbol; no memory of the kernel there; a kernel without /proc/kcore",
		Source:   "/proc/kcore, /proc/kallsyms; root",
		Cost:     "100 ms for the symbols, a read of a file",
		Examples: []b.Example{{Code: `try_(read_kernel, 16, 8).ok`, Output: "False"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			size := c.Int("size")
			if size < 1 || size > mostKernelBytes {
				return nil, c.Errorf("size", "got %d, want 1 to %d", size, mostKernelBytes)
			}
			addr, err := kernelPlace(c.Value("place"))
			if err != nil {
				return nil, c.Error("place", err, diag.HintOf(err))
			}
			data := make([]byte, size)
			if err := probe.ReadKernel("/proc/kcore", data, addr); err != nil {
				return nil, err
			}
			bytes := make([]starlark.Value, size)
			for i, x := range data {
				bytes[i] = starlark.MakeInt(int(x))
			}
			return starlarkstruct.FromStringDict(starlark.String("kernel_memory"),
				starlark.StringDict{
					"address": starlark.MakeUint64(addr), "data": starlark.NewList(bytes),
				}), nil
		},
	}
}

// kernelPlace returns an address of the kernel: v is a number, a string with a
// number, or a symbol with an offset.
func kernelPlace(v starlark.Value) (uint64, error) {
	if n, ok := v.(starlark.Int); ok {
		addr, fits := n.Uint64()
		if !fits {
			return 0, fmt.Errorf("got %v, want an address", n)
		}
		return addr, nil
	}
	text, _ := starlark.AsString(v)
	if addr, err := strconv.ParseUint(text, 0, 64); err == nil {
		return addr, nil
	}
	name, offset, plus := strings.Cut(text, "+")
	off := uint64(0)
	if plus {
		var err error
		if off, err = strconv.ParseUint(offset, 0, 32); err != nil {
			return 0, fmt.Errorf("%q is not an offset", offset)
		}
	}
	k := symbol.NewKernel("/proc/kallsyms")
	addr, ok := k.Address(name)
	if !ok {
		if err := k.Err(); err != nil {
			return 0, err
		}
		return 0, (&diag.Error{
			Op:      "find",
			Subject: name,
			Cause:   fmt.Errorf("the kernel has no such symbol"),
			Class:   diag.Attach,
		}).
			WithHint("look for it with: grep %s /proc/kallsyms; variables are there with CONFIG_KALLSYMS_ALL only", name)
	}
	return addr + off, nil
}
