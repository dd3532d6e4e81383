package host

import (
	b "ppscript/builtins"
	"ppscript/runtime/system/kernel"

	"go.starlark.net/starlark"
)

func hasPMU() *b.Builtin {
	return &b.Builtin{
		Name:    "has_pmu",
		Group:   b.Hosted,
		Summary: "Whether the kernel has a kind of events: kprobe, uprobe, cpu and so on.",
		Params: []b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "a name of /sys/bus/event_source/devices"},
		},
		Returns:  "bool",
		Result:   `True if it has; has_pmu("kprobe") is False for a kernel without kprobes`,
		Errors:   "/sys cannot be read",
		Source:   "/sys/bus/event_source/devices of this machine, also when a recording is read",
		Cost:     "a directory read",
		Examples: []b.Example{{Code: `has_pmu("software")`, Output: "True"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			pmus, err := kernel.ReadPMUs(kernel.Roots{})
			if err != nil {
				return nil, c.Error("name", err, "mount sysfs: mount -t sysfs sysfs /sys")
			}
			_, ok := kernel.FindPMU(pmus, c.String("name"))
			return starlark.Bool(ok), nil
		},
	}
}
