package testkit

import (
	"sync"

	"ppscript/runtime/kernel"
)

// This file is about facilities of the machine that may open and yet deliver
// nothing: what a hypervisor hides, or a kernel leaves out. They are tried, as
// doctor tries them, and once for each test binary.

// What tests need to be delivered. Those that are not core run in the guests of
// tests/vm, which declare them in PPSCRIPT_REQUIRE.
var (
	tracepoints = tried("tracepoints", true, inTracefs(kernel.TryTracepoint))
	Samples     = tried("samples", true, kernel.TrySampling)
	Uprobes     = tried("uprobes", true, func() kernel.Trial { return kernel.TryUprobe(kernel.Roots{}) })
	Kprobes     = tried("kprobes", false, func() kernel.Trial { return kernel.TryKprobe(kernel.Roots{}) })
	Breakpoints = tried("breakpoints", false, kernel.TryBreakpoint)
)

// tried is the need of a facility that delivers what try makes happen.
func tried(name string, core bool, try func() kernel.Trial) Need {
	outcome := sync.OnceValue(func() string {
		if err := try().Missing(); err != nil {
			return err.Error()
		}
		return ""
	})
	return Need{name, core, outcome}
}

func inTracefs(try func(dir string) kernel.Trial) func() kernel.Trial {
	return func() kernel.Trial { return try("/sys/kernel/tracing") }
}
