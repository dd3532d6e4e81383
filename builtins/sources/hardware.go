package sources

import (
	"errors"
	"fmt"
	"math"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

const hardwareCost = "nothing while it is only counted; about 1 us for each sample"

func hardware() *b.Builtin {
	return &b.Builtin{
		Name:    "hardware",
		Group:   b.Sources,
		Summary: "One of the CPU's own counters, by the name that all CPUs share.",
		Params: append([]b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "cycles, instructions, cache-misses, branch-misses, ref-cycles, ..."},
		},
			counterParams()...),
		Returns: "stream",
		Result:  "counted by counters(...), or sampled: time, pid, tid, cpu, comm, ip, period",
		Errors:  "no such event, with the nearest name; a machine without counters of the CPU",
		Source:  "perf_event_open; CAP_PERFMON for other users' tasks; most virtual machines have none",
		Cost:    hardwareCost,
		Examples: []b.Example{
			{Code: `hardware("cycles", exclude_user = True)`, Output: "<stream hardware:cycles>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if _, err := perf.HardwareSchema(c.String("name")); err != nil {
				return nil, c.Error("name", err, diag.HintOf(err))
			}
			return counter(c, &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Hardware, Name: c.String("name"),
			}})
		},
	}
}

func cache() *b.Builtin {
	return &b.Builtin{
		Name:    "cache",
		Group:   b.Sources,
		Summary: "A counter of a cache of the CPU, by the name that all CPUs share.",
		Params: append([]b.Param{
			{Name: "name", Type: b.String, Required: true, Doc: "CACHE-loads, -stores, -prefetches, -load-misses, ...; CACHE is L1-dcache, L1-icache, LLC, dTLB, iTLB, branch or node"},
		},
			counterParams()...),
		Returns:  "stream",
		Result:   "counted by counters(...), or sampled: time, pid, tid, cpu, comm, ip, period",
		Errors:   "no such event, with the nearest name; a machine without counters of the CPU; a CPU without this one",
		Source:   "perf_event_open; CAP_PERFMON for other users' tasks; most virtual machines have none",
		Cost:     hardwareCost,
		Examples: []b.Example{{Code: `cache("dTLB-load-misses")`, Output: "<stream cache:dTLB-load-misses>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if _, err := perf.CacheSchema(c.String("name")); err != nil {
				return nil, c.Error("name", err, diag.HintOf(err))
			}
			return counter(c, &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Cache, Name: c.String("name"),
			}})
		},
	}
}

func pmu() *b.Builtin {
	return &b.Builtin{
		Name:    "pmu",
		Group:   b.Sources,
		Summary: "An event of a PMU by its number, as the CPU's manual gives it.",
		Params: append([]b.Param{
			{Name: "device", Type: b.String, Required: true, Doc: "cpu, amd_l3, uncore_imc_0, ... as in /sys/bus/event_source/devices"},
			{Name: "config", Type: b.Is("int"), Required: true, Doc: "event, unit mask and the like, laid out as the PMU's format folder says"},
			{Name: "config1", Type: b.Is("int"), Default: starlark.MakeInt(0), Named: true, Doc: "more of them"},
			{Name: "config2", Type: b.Is("int"), Default: starlark.MakeInt(0), Named: true, Doc: "more of them"}},
			counterParams()...),
		Returns: "stream",
		Result:  "counted by counters(...), or sampled: time, pid, tid, cpu, comm, ip, period",
		Errors:  "no such PMU, with a list of those that exist; an event that the PMU refuses",
		Source:  "perf_event_open; CAP_PERFMON for other users' tasks; most virtual machines have none",
		Cost:    hardwareCost,
		Examples: []b.Example{
			{Code: `pmu("cpu", 0x10f4, alias = "split-lock")`, Output: "<stream pmu:cpu/0x10f4>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			p := &eventspec.PMU{Device: c.String("device")}
			for i, name := range []string{"config", "config1", "config2"} {
				n, ok := c.Value(name).(starlark.Int)
				u, fits := n.Uint64()
				if !ok || !fits {
					return nil, c.Errorf(name, "got %v, want a number of 64 bits", c.Value(name))
				}
				p.Config[i] = u
			}
			return counter(c, &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.RawPMU, Name: fmt.Sprintf("%s/%#x", p.Device, p.Config[0]), PMU: p,
			}})
		},
	}
}

// counterParams returns the parameters that all hardware counters share.
func counterParams() []b.Param {
	flag := func(name, doc string) b.Param {
		return b.Param{Name: name, Type: b.Bool, Default: starlark.False, Named: true, Doc: doc}
	}
	return []b.Param{
		{Name: "period", Type: b.Int, Named: true, Unit: "occurrences", Doc: "occurrences for each sample"},
		flag("exclude_user", "not in user code"), flag("exclude_kernel", "not in the kernel"),
		flag("exclude_host", "only in guests"), flag("exclude_guest", "not in guests"),
		{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"},
		{Name: "cpus", Type: b.String, Named: true, Doc: "only these CPUs, such as 0-3,8"},
		flag("optional", "left out, with a note, where the CPU lacks it"),
	}
}

// counter completes a source from the arguments of counterParams.
func counter(c *b.Call, s *plan.Source) (starlark.Value, error) {
	s.Alias, s.Pos, s.Optional = c.String("alias"), c.Pos(), c.Bool("optional")
	s.Exclude = eventspec.Exclude{
		User:       c.Bool("exclude_user"),
		Kernel:     c.Bool("exclude_kernel"),
		Hypervisor: c.Bool("exclude_kernel"),
		Host:       c.Bool("exclude_host"),
		Guest:      c.Bool("exclude_guest"),
	}
	if s.Exclude.User && s.Exclude.Kernel {
		return nil, c.Error("exclude_kernel", errors.New("exclude_user is given too: nothing is left"),
			"give one of both")
	}
	if c.Has("period") {
		if c.Int("period") < 1 || c.Int("period") > math.MaxInt64/2 {
			return nil, c.Errorf("period", "got %d, want at least 1", c.Int("period"))
		}
		s.Period = uint64(c.Int("period"))
	}
	if err := onCPUs(c, s); err != nil {
		return nil, err
	}
	return &pipeline.Stream{S: s}, nil
}
