package naming

import (
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
)

// Configure adds to an event the settings that its stacks need.
func Configure(ev *perf.EventConfig, s *stack.Choice) {
	if s == nil {
		return
	}
	ev.Callchain, ev.MaxStack = true, s.Max
	ev.ExcludeChainKernel, ev.ExcludeChainUser = !s.Kernel, !s.User
	if s.Dwarf() {
		ev.RegsUser |= UnwindRegs()
		ev.StackUser = max(ev.StackUser, uint32(s.UserBytes))
	}
}
