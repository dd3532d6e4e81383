package sources

import (
	"math"

	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"

	"go.starlark.net/starlark"
)

func memoryAccess() *b.Builtin {
	return &b.Builtin{
		Name:    "memory_access",
		Group:   b.Sources,
		Summary: "Samples of the CPU's memory accesses: address, latency, and where the data came from.",
		Params: []b.Param{
			{Name: "op", Type: b.String, Required: true, Doc: "loads or stores; AMD's IBS samples both, look at data_src"},
			{Name: "cycles", Type: b.Int, Default: starlark.MakeInt(0), Named: true, Doc: "leave out loads that took fewer cycles, if the CPU can do that"},
			{Name: "period", Type: b.Int, Default: starlark.MakeInt(1000), Named: true, Unit: "accesses", Doc: "occurrences for each sample; of operations with AMD's IBS, in steps of 16"},
			{Name: "alias", Type: b.String, Named: true, Doc: "what results call the event"},
		},
		Returns: "stream",
		Result:  "time, pid, tid, cpu, comm, ip, addr, phys_addr, weight (cycles) and data_src: 2 is the bit of loads, 4 the bit of stores; data_source(...) explains it in words",
		Errors:  "a machine that cannot sample accesses, with what it lacks",
		Source:  "mem-loads and mem-stores of Intel's PEBS, AMD's ibs_op, as sysfs describes them; CAP_PERFMON",
		Cost:    "about 1 us for each sample",
		Examples: []b.Example{
			{Code: `memory_access("loads", cycles = 30)`, Output: "<stream pmu:mem-loads>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			op, cycles, period := c.String("op"), c.Int("cycles"), c.Int("period")
			switch {
			case op != "loads" && op != "stores":
				return nil, c.Errorf("op", "got %q, want loads or stores", op)
			case cycles < 0 || cycles > math.MaxUint16:
				return nil, c.Errorf("cycles", "got %d, want 0 to %d", cycles, math.MaxUint16)
			case period < 1 || period > math.MaxInt32:
				return nil, c.Errorf("period", "got %d, want 1 to %d", period, math.MaxInt32)
			}
			return &pipeline.Stream{S: &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.RawPMU, Name: "mem-" + op,
				Alias: c.String("alias"), Pos: c.Pos(),
				Memory:   &eventspec.Memory{Op: op, Cycles: uint64(cycles)},
				Sampling: eventspec.Sampling{Period: uint64(period)}}}}, nil
		},
	}
}
