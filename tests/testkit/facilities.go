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
	Tracepoints = tried("tracepoints", true, inTracefs(kernel.TryTracepoint))
	Switches    = tried("switches of tasks", true, inTracefs(func(dir string) kernel.Trial { return kernel.TrySwitches(dir, online()) }))
	Samples     = tried("samples", true, kernel.TrySampling)
	EventClock  = tried("the event clock", true, kernel.TryClock)
	Uprobes     = tried("uprobes", true, func() kernel.Trial { return kernel.TryUprobe(kernel.Roots{}) })
	Kprobes     = tried("kprobes", false, func() kernel.Trial { return kernel.TryKprobe(kernel.Roots{}) })
	Breakpoints = tried("breakpoints", false, kernel.TryBreakpoint)
	Counters    = tried("counters", false, kernel.TryCycles)
	Cgroups     = tried("cgroups", false, tryCgroup)
	Programs    = tried("programs", true, kernel.TryProgram)
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

func online() []int {
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return nil
	}
	return cpus.Online
}

func tryCgroup() kernel.Trial {
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		return kernel.Trial{Err: err}
	}
	return kernel.TryCgroup(mounts.PerfCgroup(), online())
}
