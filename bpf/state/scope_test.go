package state_test

import (
	"testing"

	"ppscript/bpf/hook"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

func member(m event.Member, name string) expr.Node {
	return expr.NewField(&event.Field{Name: name, Place: event.InMember, Member: m}, expr.Self)
}

func field(name string) expr.Node {
	return expr.NewField(&event.Field{Name: name, Size: 4}, expr.Self)
}

// of is an expression of two others.
func of(t *testing.T, x, y expr.Node) expr.Node {
	t.Helper()
	n, err := expr.NewBinary(expr.OpAdd, x, y)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The running thread, and the CPU, belong to the event at hand: neither another event's, nor computed.
func TestKeys(t *testing.T) {
	tid, cpu, pid := member(event.MemberTID, "_tid"), member(event.MemberCPU, "_cpu"), field("common_pid")
	other := *tid.(*expr.Field)
	other.Part = expr.Self + 1
	for _, c := range []struct {
		what             string
		key              expr.Node
		thread, cpu, one bool
	}{
		{"the thread", tid, true, false, true},
		{"the CPU", cpu, false, true, true},
		{"the tracepoint's own thread", pid, false, false, true},
		{"what is computed of them", of(t, tid, cpu), false, false, true},
		{"the process", member(event.MemberPID, "_pid"), false, false, false},
		{"a field", field("next_pid"), false, false, false},
		{"what is computed with a field", of(t, tid, field("fd")), false, false, false},
		{"a constant", expr.NewInt(1), false, false, false},
		{"the thread of another event", &other, false, false, false},
	} {
		if got := state.IsThread(c.key); got != c.thread {
			t.Errorf("%s: got a thread %t, want %t", c.what, got, c.thread)
		}
		if got := state.IsCPU(c.key); got != c.cpu {
			t.Errorf("%s: got a CPU %t, want %t", c.what, got, c.cpu)
		}
		if got := state.OneCPU(c.key); got != c.one {
			t.Errorf("%s: got one CPU at a time %t, want %t", c.what, got, c.one)
		}
	}
}

// TestEventsOfIdleTasks checks that idle tasks make no system calls, fault no file in, and do not
// exit; samples and interrupts come to them.
func TestEventsOfIdleTasks(t *testing.T) {
	point := func(system, name string) *hook.Event {
		return &hook.Event{Schema: &event.Schema{System: system, Name: name}}
	}
	probe := func(user bool) *hook.Event {
		return &hook.Event{Schema: &event.Schema{}, Probe: &hook.Probe{User: user}}
	}
	sampled := point("syscalls", "sys_enter_read")
	sampled.Sampled = true
	for _, c := range []struct {
		what          string
		e             *hook.Event
		never, inTask bool
	}{
		{"a system call", point("raw_syscalls", "sys_enter"), true, true},
		{"one of them", point("syscalls", "sys_exit_read"), true, true},
		{"an exit", point("sched", "sched_process_exit"), true, true},
		{"a switch", point("sched", "sched_switch"), false, false},
		{"an interrupt", point("irq", "irq_handler_entry"), false, false},
		{"a function of a program", probe(true), true, true},
		{"a function of the kernel", probe(false), false, false},
		{"a sample", sampled, true, false},
	} {
		if got := state.NeverIdle(c.e); got != c.never {
			t.Errorf("%s: got never of idle tasks %t, want %t", c.what, got, c.never)
		}
		if got := state.InTask(c.e); got != c.inTask {
			t.Errorf("%s: got in tasks only %t, want %t", c.what, got, c.inTask)
		}
	}
}
