package naming

import (
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack"
)

// Configure fills in what an event's stack needs.
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
