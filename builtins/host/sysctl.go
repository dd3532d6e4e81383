package host

import (
	"fmt"

	b "ppscript/builtins"
	"ppscript/runtime/system/kernel"

	"go.starlark.net/starlark"
)

func sysctl() *b.Builtin {
	return &b.Builtin{
		Name:    "sysctl",
		Group:   b.Hosted,
		Summary: "A setting of the kernel, as sysctl prints it.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "such as kernel.watchdog_thresh"},
		},
		Returns:  "string",
		Result:   "its value, without the end of the line",
		Errors:   "no such setting; a setting that may not be read",
		Source:   "/proc/sys of this machine, also when a recording is read",
		Cost:     "a file read",
		Examples: []b.Example{{Code: `sysctl("kernel.ostype")`, Output: `"Linux"`}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			value, err := kernel.Sysctl(kernel.Roots{}, c.String("name"))
			if err != nil {
				return nil, c.Error("name", fmt.Errorf("read %s: %w", c.String("name"), err),
					"see what there is with: sysctl -a")
			}
			return starlark.String(value), nil
		},
	}
}
