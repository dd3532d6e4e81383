package testkit

import (
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/system/kernel"
)

// This file has needs for events that may open and yet deliver nothing, because
// a hypervisor hides them or a kernel lacks them. They are tried once for each
// test binary, with doctor's checks.

// Events that tests need. Tests whose needs are not core run in the guests of
// tests/vm, which declare the needs in PPSCRIPT_REQUIRE.
var (
	tracepoints = tried("tracepoints", true, inTracefs(kernel.TryTracepoint))
	Samples     = tried("samples", true, kernel.TrySampling)
	Uprobes     = tried("uprobes", true, func() kernel.Trial { return kernel.TryUprobe(kernel.Roots{}) })
	Kprobes     = tried("kprobes", false, func() kernel.Trial { return kernel.TryKprobe(kernel.Roots{}) })
	Breakpoints = tried("breakpoints", false, kernel.TryBreakpoint)
	// Programs is the need that the kernel's test command runs BPF programs.
	Programs = Need{"programs that a test runs", true, sync.OnceValue(missingPrograms)}
)

// missingPrograms makes the kernel run a program; the result is "" if this
// works.
func missingPrograms() string {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.RawTracepoint, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	if err != nil {
		return err.Error()
	}
	defer p.Close()
	switch ret, err := p.Run(&ebpf.RunOptions{}); {
	case err != nil:
		return err.Error()
	case ret != 1:
		return fmt.Sprintf("got %d of a program that returns 1", ret)
	}
	return ""
}

// tried makes a need of a facility: it is met if the facility delivers the
// event that try causes.
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
