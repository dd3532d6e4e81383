package host

import (
	"runtime"

	b "ppscript/builtins"
	"ppscript/runtime/system/kernel"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// cpuModel declares cpu_model(), by which profilers choose among events of a CPU model.
func cpuModel() *b.Builtin {
	return &b.Builtin{
		Name: "cpu_model", Group: b.Hosted, Summary: "The vendor and the model of this machine's CPU.",
		Returns: "struct(arch, vendor, family, model, pmus)",
		Result:  `arch is amd64 or arm64; vendor GenuineIntel, AuthenticAMD, ...; "" and 0 where the CPU does not say; pmus are the names of its PMUs`,
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
				"arch":   starlark.String(runtime.GOARCH),
				"vendor": starlark.String(m.Vendor),
				"family": starlark.MakeInt(m.Family),
				"model":  starlark.MakeInt(m.Model),
				"pmus":   starlark.NewList(names),
			}), nil
		},
	}
}

func cpuCores() *b.Builtin {
	return &b.Builtin{
		Name:     "cpu_cores",
		Group:    b.Hosted,
		Summary:  "Which CPUs share a core.",
		Returns:  "list of list of int",
		Result:   "the CPUs of each core that is online: more than one where a core runs several threads (SMT)",
		Errors:   "no sysfs",
		Source:   "/sys/devices/system/cpu of this machine, also when a recording is read",
		Cost:     "a file read for each CPU",
		Examples: []b.Example{{Code: "len(cpu_cores()) > 0", Output: "True"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			cores, err := kernel.ReadCores(kernel.Roots{})
			if err != nil {
				return nil, c.Error("", err,
					"see what the kernel says: ls /sys/devices/system/cpu/cpu0/topology")
			}
			var list []starlark.Value
			for _, core := range cores {
				var cpus []starlark.Value
				for _, cpu := range core {
					cpus = append(cpus, starlark.MakeInt(cpu))
				}
				list = append(list, starlark.NewList(cpus))
			}
			return starlark.NewList(list), nil
		},
	}
}
