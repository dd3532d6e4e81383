package state

import (
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file tells to whom the events of a key belong: to one thread, whose memory in
// the kernel can hold what waits, or to one CPU at a time, which needs no lock.

// IsThread reports that a key is the running thread.
func IsThread(key expr.Node) bool {
	f, ok := key.(*expr.Field)
	return ok && f.Part == expr.Self && f.View == expr.ViewValue && f.F.Place == event.InMember &&
		f.F.Member == event.MemberTID
}

// NeverIdle tells events that idle tasks do not have: they never leave the kernel.
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

// OneCPU reports that one CPU at a time has events of a key.
func OneCPU(key expr.Node) bool {
	some, only := false, true
	for _, f := range expr.UsesOf(key).Fields {
		own := f.Part == expr.Self && f.View == expr.ViewValue && (f.F.Name == "common_pid" ||
			f.F.Place == event.InMember && (f.F.Member == event.MemberTID || f.F.Member == event.MemberCPU))
		some, only = true, only && own
	}
	return some && only
}

// InTask reports that an event does not come in interrupts, where no program may run
// since it would interrupt another one: programs see each.
func InTask(e *hook.Event) bool {
	return !e.Sampled && NeverIdle(e)
}

// IsCPU reports the number of the CPU.
func IsCPU(n expr.Node) bool {
	f, ok := n.(*expr.Field)
	return ok && f.View == expr.ViewValue && f.F.Place == event.InMember && f.F.Member == event.MemberCPU
}
