package host

import (
	"runtime"

	b "ppscript/builtins"
	"ppscript/runtime/kernel"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// cpuModel declares what profilers of the CPU's own events choose them by.
func cpuModel() *b.Builtin {
	return &b.Builtin{
		Name: "cpu_model", Group: b.Hosted, Summary: "Whose CPU this machine has, and which.",
		Returns: "struct(arch, vendor, family, model, pmus)",
		Result:  `arch is amd64 or arm64; vendor GenuineIntel, AuthenticAMD, ...; "" and 0 where the CPU does not say; pmus are the names of what can count`,
		Errors:  "none", Source: "/proc/cpuinfo, /sys/bus/event_source/devices", Cost: "a few files read",
		Examples: []b.Example{{Code: `cpu_model().arch in ("amd64", "arm64")`, Output: "True"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			m := kernel.ReadCPUModel(kernel.Roots{})
			var names []starlark.Value
			if pmus, err := kernel.ReadPMUs(kernel.Roots{}); err == nil {
				for _, p := range pmus {
					names = append(names, starlark.String(p.Name))
				}
			}
			return starlarkstruct.FromStringDict(starlark.String("cpu_model"), starlark.StringDict{
				"arch": starlark.String(runtime.GOARCH), "vendor": starlark.String(m.Vendor),
				"family": starlark.MakeInt(m.Family), "model": starlark.MakeInt(m.Model), "pmus": starlark.NewList(names),
			}), nil
		},
	}
}
