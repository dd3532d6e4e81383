package sources

import (
	b "ppscript/builtins"
	"ppscript/builtins/pipeline"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/eventspec"

	"go.starlark.net/starlark"
)

func kernelRecords() *b.Builtin {
	return &b.Builtin{
		Name:    "kernel_records",
		Group:   b.Sources,
		Summary: "Records of the kernel about itself: BPF programs, symbols and cgroups that come and go, and changes of code.",
		Returns: "stream",
		Result: "kind (symbol, symbol-gone, bpf-load, bpf-unload, cgroup, text-poke), name (a symbol, the tag of a program, a path), id (of a program or cgroup), " +
			"address and size (of a symbol, of code), old and new (bytes of code)",
		Errors: "a kernel without these records: before 5.1 of symbols and programs, 5.7 of cgroups, 5.8 of code",
		Source: "records beside the events of perf_event_open; CAP_PERFMON",
		Cost:   "nothing but the few records",
		Examples: []b.Example{
			{Code: "kernel_records().by(\"kind\").count()", Output: "<table of kind, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return &pipeline.Stream{S: &plan.Records{Carrier: &plan.Source{Spec: eventspec.Spec{
				Kind: eventspec.Software, Name: "dummy", Pos: c.Pos(),
			}}}}, nil
		},
	}
}
