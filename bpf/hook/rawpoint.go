package hook

import (
	"runtime"
	"slices"
	"strings"

	"ppscript/runtime/event"
)

// This file lists tracepoints whose fields can be read from the arguments of the
// kernel's trace call. Programs on the raw tracepoint get these before the kernel makes
// a record, which saves half of the cost. A field is listed only if the kernel's own
// assignment is a plain copy; if any other field is read, the program runs on the
// ordinary tracepoint.

// A RawPoint is a tracepoint with the arguments from which its fields can be
// read.
type RawPoint struct {
	Name   string
	Fields map[string]RawField
}

// A RawField is an argument, or, with Deref, a member of the structure to which
// an argument points.
type RawField struct {
	Arg    int
	Deref  bool
	Type   string // of the structure, for BTF
	Member string
	Inner  string // type of Member, if the field is a copy of its member Of
	Of     string
	Size   int
	Signed bool
	Text   bool // a text up to its NUL, at most Size bytes
	// Words lists the members that are the elements of an array. Compat lists
	// them for 32-bit system calls, which use 32 bits of each.
	Words, Compat []string
}

// RawPointOf is the RawPoint of an event, "system:name"; nil if its fields are not
// known.
func RawPointOf(fullName string) *RawPoint {
	nr := RawField{Arg: 0, Deref: true, Type: "pt_regs", Member: "orig_ax", Size: 8, Signed: true}
	if runtime.GOARCH == "arm64" {
		nr.Member, nr.Size = "syscallno", 4
	}
	switch fullName {
	case "raw_syscalls:sys_enter":
		p := &RawPoint{"sys_enter", map[string]RawField{"id": {Arg: 1, Size: 8, Signed: true}}}
		if runtime.GOARCH == "amd64" {
			p.Fields["args"] = RawField{Arg: 0, Deref: true, Type: "pt_regs", Member: "di", Size: 48,
				Words:  []string{"di", "si", "dx", "r10", "r8", "r9"},
				Compat: []string{"bx", "cx", "dx", "si", "di", "bp"}}
		}
		return p
	case "raw_syscalls:sys_exit":
		return &RawPoint{"sys_exit", map[string]RawField{"id": nr, "ret": {Arg: 1, Size: 8, Signed: true}}}
	case "irq:softirq_entry", "irq:softirq_exit", "irq:softirq_raise":
		return &RawPoint{fullName[4:], map[string]RawField{"vec": {Arg: 0, Size: 4}}}
	case "sched:sched_switch":
		p := &RawPoint{fullName[6:], map[string]RawField{}}
		p.task("prev_", 1)
		p.task("next_", 2)
		return p
	case "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new":
		p := &RawPoint{fullName[6:], map[string]RawField{}}
		p.task("", 0)
		// The field is task_cpu(), which reads this member from 5.16 on; older kernels
		// do not have the member.
		p.Fields["target_cpu"] = RawField{Deref: true, Type: "task_struct", Member: "thread_info",
			Inner: "thread_info", Of: "cpu", Size: 4, Signed: true}
		return p
	case "sched:sched_process_exit":
		p := &RawPoint{fullName[6:], map[string]RawField{}}
		p.task("", 0)
		return p
	case "irq:irq_handler_entry":
		return &RawPoint{fullName[4:], map[string]RawField{"irq": {Arg: 0, Size: 4, Signed: true}}}
	case "irq_vectors:local_timer_entry", "irq_vectors:local_timer_exit",
		"irq_vectors:reschedule_entry", "irq_vectors:reschedule_exit",
		"irq_vectors:call_function_entry", "irq_vectors:call_function_exit",
		"irq_vectors:call_function_single_entry", "irq_vectors:call_function_single_exit",
		"irq_vectors:irq_work_entry", "irq_vectors:irq_work_exit":
		return &RawPoint{fullName[12:], map[string]RawField{"vector": {Arg: 0, Size: 4, Signed: true}}}
	case "kmem:kmalloc", "kmem:kfree":
		return &RawPoint{fullName[5:],
			map[string]RawField{"call_site": {Arg: 0, Size: 8}, "ptr": {Arg: 1, Size: 8},
				"bytes_req": {Arg: 2, Size: 8}, "bytes_alloc": {Arg: 3, Size: 8}}}
	case "kmem:mm_page_alloc", "kmem:mm_page_free":
		return &RawPoint{fullName[5:], map[string]RawField{"order": {Arg: 1, Size: 4}}}
	case "irq:irq_handler_exit":
		return &RawPoint{
			fullName[4:],
			map[string]RawField{
				"irq": {Arg: 0, Size: 4, Signed: true}, "ret": {Arg: 2, Size: 4, Signed: true},
			},
		}
	}
	// The arguments of most others are unknown, which is enough if no field is
	// read. The fields of block events and kvm_exit, and the state of
	// sched_switch, are computed from the arguments by code that differs from
	// kernel to kernel.
	if system, name, ok := strings.Cut(fullName, ":"); ok && slices.Contains(plainSystems, system) {
		return &RawPoint{name, nil}
	}
	return nil
}

// Wakes reports that an event is about a thread that is woken: perf delivers it to tracers of that thread
// (__perf_task in include/trace/events/sched.h), beside tracers of the waker.
func Wakes(s *event.Schema) bool {
	return s.System == "sched" && strings.HasPrefix(s.Name, "sched_wak")
}

// plainSystems lists systems whose events have the names of their tracepoints.
var plainSystems = []string{
	"sched", "irq", "irq_vectors", "ipi", "task", "signal", "timer", "block", "kmem", "kvm", "net", "napi",
	"skb", "tcp", "sock", "power", "workqueue", "writeback", "ext4", "jbd2", "xfs", "btrfs",
}

// task adds fields that are copies of members of a task.
func (p *RawPoint) task(prefix string, arg int) {
	member := func(name string, size int, text bool) {
		p.Fields[prefix+name] = RawField{
			Arg:    arg,
			Deref:  true,
			Type:   "task_struct",
			Member: name,
			Size:   size,
			Signed: !text,
			Text:   text,
		}
	}
	member("pid", 4, false)
	member("prio", 4, false)
	member("comm", 16, true)
}
