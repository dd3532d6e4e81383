package host

import (
	"fmt"
	"runtime"
	"slices"

	b "ppscript/builtins"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

const syscallSource = "the kernel's headers of this architecture, built in"

func syscallNumber() *b.Builtin {
	return &b.Builtin{
		Name:    "syscall_number",
		Group:   b.Hosted,
		Summary: "The number of a system call.",
		Params:  []b.Param{{Name: "name", Type: b.String, Required: true, Doc: "its name"}},
		Returns: "int",
		Result:  "the number on this architecture",
		Errors:  "no system call has that name, with the nearest name",
		Source:  syscallSource,
		Cost:    "one search of 400 names",
		Examples: []b.Example{
			{Code: `syscall_number("exit_group") > syscall_number("read")`, Output: "True"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			nr, ok := kernel.SyscallNumber(runtime.GOARCH, c.String("name"))
			if !ok {
				names := slices.DeleteFunc(slices.Clone(kernel.SyscallNames(runtime.GOARCH)),
					func(s string) bool { return s == "" })
				return nil, c.Error("name",
					fmt.Errorf("no such system call %s%s", c.String("name"),
						diag.DidYouMean(c.String("name"), names)), "write it as in the manual's section 2")
			}
			return starlark.MakeInt64(nr), nil
		},
		Native: numberOfName(),
	}
}

func syscallParams() *b.Builtin {
	return &b.Builtin{
		Name:     "syscall_params",
		Group:    b.Hosted,
		Summary:  "The parameters of a system call.",
		Params:   []b.Param{{Name: "name", Type: b.String, Required: true, Doc: "its name"}},
		Returns:  "list of (name, type)",
		Result:   "names as in the kernel, types as in C; None if the call is not known",
		Errors:   "none",
		Source:   "the formats of the kernel's events syscalls:sys_enter_*, built in",
		Cost:     "one look-up",
		Examples: []b.Example{{Code: `syscall_params("close")`, Output: `[("fd", "unsigned int")]`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			params, ok := kernel.SyscallParams(runtime.GOARCH, c.String("name"))
			if !ok {
				return starlark.None, nil
			}
			var list []starlark.Value
			for _, p := range params {
				list = append(list, starlark.Tuple{starlark.String(p.Name), starlark.String(p.Type)})
			}
			return starlark.NewList(list), nil
		},
	}
}
