// Package rawpoint knows raw tracepoints: their programs get the arguments of the
// kernel's trace call, before any record is made of them, which saves half of the cost.
// Fields map to arguments only where the kernel's own assignment is a plain copy; an
// event of which anything else is read takes the general way.
package rawpoint

import (
	"runtime"
	"slices"
	"strings"
)

// A Point is a tracepoint whose fields are known by argument.
type Point struct {
	Name   string
	Fields map[string]Field
}

// A Field is an argument, or a member of the structure that an argument
// points to.
type Field struct {
	Arg    int
	Deref  bool
	Type   string // of the structure, for BTF
	Member string
	Inner  string // the structure that Member is, if Of it the field is a copy
	Of     string
	Size   int
	Signed bool
	Text   bool // up to its NUL, at most Size bytes
	// Words are the members that make an array, Compat those of it, 32 bits of
	// each, in system calls of 32 bits.
	Words, Compat []string
}

// Of is the tracepoint of an event, "system:name"; nil if it is not known.
func Of(fullName string) *Point {
	nr := Field{Arg: 0, Deref: true, Type: "pt_regs", Member: "orig_ax", Size: 8, Signed: true}
	if runtime.GOARCH == "arm64" {
		nr.Member, nr.Size = "syscallno", 4
	}
	switch fullName {
	case "raw_syscalls:sys_enter":
		p := &Point{"sys_enter", map[string]Field{"id": {Arg: 1, Size: 8, Signed: true}}}
		if runtime.GOARCH == "amd64" {
			p.Fields["args"] = Field{Arg: 0, Deref: true, Type: "pt_regs", Member: "di", Size: 48,
				Words:  []string{"di", "si", "dx", "r10", "r8", "r9"},
				Compat: []string{"bx", "cx", "dx", "si", "di", "bp"}}
		}
		return p
	case "raw_syscalls:sys_exit":
		return &Point{"sys_exit", map[string]Field{"id": nr, "ret": {Arg: 1, Size: 8, Signed: true}}}
	case "irq:softirq_entry", "irq:softirq_exit", "irq:softirq_raise":
		return &Point{fullName[4:], map[string]Field{"vec": {Arg: 0, Size: 4}}}
	case "sched:sched_switch":
		p := &Point{fullName[6:], map[string]Field{}}
		p.task("prev_", 1)
		p.task("next_", 2)
		return p
	case "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new":
		p := &Point{fullName[6:], map[string]Field{}}
		p.task("", 0)
		// It is task_cpu(), which reads this from 5.16 on; types before do not have it.
		p.Fields["target_cpu"] = Field{Deref: true, Type: "task_struct", Member: "thread_info",
			Inner: "thread_info", Of: "cpu", Size: 4, Signed: true}
		return p
	case "sched:sched_process_exit":
		p := &Point{fullName[6:], map[string]Field{}}
		p.task("", 0)
		return p
	case "irq:irq_handler_entry":
		return &Point{fullName[4:], map[string]Field{"irq": {Arg: 0, Size: 4, Signed: true}}}
	case "kmem:kmalloc", "kmem:kfree":
		return &Point{fullName[5:],
			map[string]Field{"call_site": {Arg: 0, Size: 8}, "ptr": {Arg: 1, Size: 8},
				"bytes_req": {Arg: 2, Size: 8}, "bytes_alloc": {Arg: 3, Size: 8}}}
	case "kmem:mm_page_alloc", "kmem:mm_page_free":
		return &Point{fullName[5:], map[string]Field{"order": {Arg: 1, Size: 4}}}
	case "irq:irq_handler_exit":
		return &Point{
			fullName[4:],
			map[string]Field{
				"irq": {Arg: 0, Size: 4, Signed: true}, "ret": {Arg: 2, Size: 4, Signed: true},
			},
		}
	}
	// The arguments of most others are unknown, which is enough if no field is
	// read. The fields of block events and kvm_exit, and the state of
	// sched_switch, are computed from the arguments by code that differs from
	// kernel to kernel.
	if system, name, ok := strings.Cut(fullName, ":"); ok && slices.Contains(plainSystems, system) {
		return &Point{name, nil}
	}
	return nil
}

// plainSystems have events that are the tracepoints of their names.
var plainSystems = []string{
	"sched", "irq", "task", "signal", "timer", "block", "kmem", "kvm", "net", "skb", "tcp", "sock",
	"power", "workqueue", "writeback",
}

// task adds the fields that are copies of members of a task.
func (p *Point) task(prefix string, arg int) {
	member := func(name string, size int, text bool) {
		p.Fields[prefix+name] = Field{
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
