package sources

import (
	"errors"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"

	"go.starlark.net/starlark"
)

func pmuEvent() *b.Builtin {
	return &b.Builtin{
		Name:    "pmu_event",
		Group:   b.Sources,
		Summary: "An event of a PMU by the name that the kernel has for it: energy, memory controllers, caches of a package.",
		Params: append([]b.Param{
			{Name: "event", Type: b.String, Required: true, Doc: "DEVICE/NAME, as in /sys/bus/event_source/devices/DEVICE/events: power/energy-pkg; " +
				"or with terms of its format folder: cpu/event=0x3c,umask=1. The device may be a pattern: uncore_imc_*/cas_count_read"},
		}, counterParams()...),
		Returns: "stream",
		Result: "counted by counters(...), in the kernel's units: a message says what one count stands for, where the kernel does; " +
			"or sampled, if the PMU can: time, pid, tid, cpu, comm, ip, period. A counter of a whole package is opened on one CPU of each package",
		Errors: "no such PMU or name, with a list of those that exist; sampling where the PMU only counts; a task where it counts for CPUs",
		Source: "perf_event_open, by what sysfs says; CAP_PERFMON",
		Cost:   hardwareCost,
		Examples: []b.Example{
			{Code: `pmu_event("msr/tsc")`, Output: "<stream pmu:msr/tsc>"},
			{Code: `counters([pmu_event("power/energy-pkg", optional = True)], period = 1 * s)`, Output: "<stream>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			name := strings.TrimSuffix(c.String("event"), "/")
			device, terms, found := strings.Cut(name, "/")
			if !found || device == "" || terms == "" || strings.Contains(terms, "/") {
				return nil, c.Error("event", errors.New("got "+c.String("event")+", want DEVICE/NAME"),
					"see: ls /sys/bus/event_source/devices/*/events")
			}
			return counter(c, &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.RawPMU, Name: name, PMU: &eventspec.PMU{Device: device, Terms: terms},
			}})
		},
	}
}
