package state

import (
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file decides whether all events of a key come from one thread, whose storage
// can then hold waiting events, or from one CPU at a time, which needs no lock.

// IsThread reports that a key is the running thread.
func IsThread(key expr.Node) bool {
	f, ok := key.(*expr.Field)
	return ok && f.Part == expr.Self && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Member == event.MemberTID
}

// NeverIdle reports events that idle tasks cannot have, since those never leave
// the kernel.
func NeverIdle(e *hook.Event) bool {
	if e.Probe != nil {
		return e.Probe.User
	}
	name := e.Schema.Name
	switch e.Schema.System {
	case "raw_syscalls", "syscalls", "filemap":
		return true
	case "sched":
		return name == "sched_process_exit" || name == "sched_process_exec"
	}
	return false
}

// OneCPU reports that only one CPU at a time has events of a key.
func OneCPU(key expr.Node) bool {
	some, only := false, true
	for _, f := range expr.UsesOf(key).Fields {
		own := f.Part == expr.Self && f.View == expr.ViewValue && (f.F.Name == "common_pid" ||
			f.F.Place == event.InMember && (f.F.Member == event.MemberTID || f.F.Member == event.MemberCPU))
		some, only = true, only && own
	}
	return some && only
}

// InTask reports that an event does not happen in interrupts. So its program never
// interrupts another one, in which case the kernel would not run it, and misses no
// event.
func InTask(e *hook.Event) bool {
	return !e.Sampled && NeverIdle(e)
}

// IsCPU reports that a node is the number of the CPU.
func IsCPU(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember && f.F.Member == event.MemberCPU
}
