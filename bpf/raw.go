package bpf

import (
	"runtime"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file knows raw tracepoints: their programs get the arguments of the
// kernel's trace call, before any record is made of them, which saves half of
// the cost. Fields map to arguments only where the kernel's own assignment is
// a plain copy; an event of which anything else is read takes the general
// way.

// A rawPoint is a tracepoint whose fields are known by argument.
type rawPoint struct {
	name   string
	fields map[string]rawField
}

// A rawField is an argument, or a member of the structure that an argument
// points to.
type rawField struct {
	arg    int
	deref  bool
	typ    string // of the structure, for BTF
	member string
	size   int
	signed bool
	text   bool // up to its NUL, at most size bytes
	// words are the members that make an array, compat those of it, 32 bits of
	// each, in system calls of 32 bits.
	words, compat []string
}

func rawPointOf(fullName string) *rawPoint {
	nr := rawField{arg: 0, deref: true, typ: "pt_regs", member: "orig_ax", size: 8, signed: true}
	if runtime.GOARCH == "arm64" {
		nr.member, nr.size = "syscallno", 4
	}
	switch fullName {
	case "raw_syscalls:sys_enter":
		p := &rawPoint{"sys_enter", map[string]rawField{"id": {arg: 1, size: 8, signed: true}}}
		if runtime.GOARCH == "amd64" {
			p.fields["args"] = rawField{arg: 0, deref: true, typ: "pt_regs", member: "di", size: 48,
				words:  []string{"di", "si", "dx", "r10", "r8", "r9"},
				compat: []string{"bx", "cx", "dx", "si", "di", "bp"}}
		}
		return p
	case "raw_syscalls:sys_exit":
		return &rawPoint{"sys_exit", map[string]rawField{"id": nr, "ret": {arg: 1, size: 8, signed: true}}}
	case "irq:softirq_entry", "irq:softirq_exit", "irq:softirq_raise":
		return &rawPoint{fullName[4:], map[string]rawField{"vec": {arg: 0, size: 4}}}
	case "sched:sched_switch":
		p := &rawPoint{fullName[6:], map[string]rawField{}}
		p.task("prev_", 1)
		p.task("next_", 2)
		return p
	case "sched:sched_wakeup", "sched:sched_waking", "sched:sched_wakeup_new", "sched:sched_process_exit":
		p := &rawPoint{fullName[6:], map[string]rawField{}}
		p.task("", 0)
		return p
	case "irq:irq_handler_entry":
		return &rawPoint{fullName[4:], map[string]rawField{"irq": {arg: 0, size: 4, signed: true}}}
	case "kmem:kmalloc", "kmem:kfree":
		return &rawPoint{fullName[5:],
			map[string]rawField{"call_site": {arg: 0, size: 8}, "ptr": {arg: 1, size: 8},
				"bytes_req": {arg: 2, size: 8}, "bytes_alloc": {arg: 3, size: 8}}}
	case "kmem:mm_page_alloc", "kmem:mm_page_free":
		return &rawPoint{fullName[5:], map[string]rawField{"order": {arg: 1, size: 4}}}
	case "irq:irq_handler_exit":
		return &rawPoint{
			fullName[4:],
			map[string]rawField{
				"irq": {arg: 0, size: 4, signed: true}, "ret": {arg: 2, size: 4, signed: true},
			},
		}
	}
	// The arguments of most others are unknown, which is enough if no field is
	// read. The fields of block events and kvm_exit, and the state of
	// sched_switch, are computed from the arguments by code that differs from
	// kernel to kernel.
	if system, name, ok := strings.Cut(fullName, ":"); ok && slices.Contains(plainSystems, system) {
		return &rawPoint{name, nil}
	}
	return nil
}

// plainSystems have events that are the tracepoints of their names.
var plainSystems = []string{
	"sched", "irq", "task", "signal", "timer", "block", "kmem", "kvm", "net", "skb", "tcp", "sock",
	"power", "workqueue", "writeback",
}

// task adds the fields that are copies of members of a task.
func (p *rawPoint) task(prefix string, arg int) {
	member := func(name string, size int, text bool) {
		p.fields[prefix+name] = rawField{
			arg:    arg,
			deref:  true,
			typ:    "task_struct",
			member: name,
			size:   size,
			signed: !text,
			text:   text,
		}
	}
	member("pid", 4, false)
	member("prio", 4, false)
	member("comm", 16, true)
}

// pickRaw decides whether the program can be a raw one: every field of the
// record that somebody reads must be known. Without BTF, structures cannot be
// read.
func (h *hook) pickRaw(nodes []expr.Node) {
	e := h.source
	if h.host.asRaw {
		h.kind = ebpf.RawTracepoint
		return
	}
	if e.Sampled || e.Probe != nil || e.stacked && e.Stack.Kernel {
		// The kernel's stack begins where the record was made, without
		// frames of the program itself.
		return
	}
	p := rawPointOf(e.Schema.FullName())
	if p == nil || !h.host.raw(p.name) {
		return
	}
	typ := ebpf.RawTracepoint
	ok := true
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			if _, array := n.(*expr.Mem); array {
				ok = false
			}
			f, is := n.(*expr.Field)
			if !is || f.F.Place == event.InMember || f.F.Place == event.InSlot || f.F.Name == "common_pid" ||
				f.Part == expr.Start {
				return ok
			}
			known, have := p.fields[f.F.Own().Name]
			ok = ok && have && f.View == expr.ViewValue &&
				(f.F.Kind == event.Int || known.text && f.F.Kind == event.Str ||
					known.words != nil && f.F.Kind == event.Array)
			if have && known.words != nil && !h.host.tells32() {
				ok = false
			}
			if have && known.deref {
				if _, has := h.host.member(known.typ, known.member); !has {
					ok = false
				}
				typ = ebpf.Tracing
			}
			return ok
		})
	}
	if ok {
		h.raw, h.kind = p, typ
	}
}

// rawText copies a text of a structure to off.
func (h *hook) rawText(off int16, name string) {
	c := h.code
	f := h.raw.fields[name]
	at, _ := h.host.member(f.typ, f.member)
	c.emit(asm.LoadMem(asm.R3, asm.R6, int16(8*f.arg), asm.DWord), asm.Add.Imm(asm.R3, int32(at)))
	c.addr(asm.R1, off)
	c.emit(asm.Mov.Imm(asm.R2, int32(f.size+1)))
	c.call(asm.FnProbeReadKernelStr)
}

// rawField reads a field from the arguments.
func (h *hook) rawField(dst asm.Register, field *event.Field) {
	c := h.code
	f, ok := h.raw.fields[field.Own().Name]
	if !ok {
		refuse("BUG: field %s of a raw tracepoint", field.Name)
	}
	if f.words != nil {
		i := field.Offset - field.Own().Offset
		h.rawWords(f, i/8, 1, func(int) {})
		if dst != asm.R0 {
			c.emit(asm.Mov.Reg(dst, asm.R0))
		}
		return
	}
	base, off := asm.R6, 8*f.arg
	if f.deref {
		c.emit(asm.LoadMem(dst, base, int16(off), asm.DWord))
		at, _ := h.host.member(f.typ, f.member)
		c.emit(asm.LoadMem(dst, dst, int16(at), sizes[f.size]))
		if f.signed {
			c.extend(dst, 8*f.size, true)
		}
		return
	}
	// Arguments are widened to 64 bits, but not by their sign.
	c.emit(asm.LoadMem(dst, base, int16(off), asm.DWord))
	c.extend(dst, 8*f.size, f.signed)
}

// rawArray copies an array of members to the stack: the arguments of a system call.
func (h *hook) rawArray(to int16, name string) {
	f := h.raw.fields[name]
	h.rawWords(f, 0, len(f.words), func(i int) { h.code.store(to+int16(8*i), asm.R0) })
}

// rawWords reads n elements of an array of members, from one on, into R0, and calls
// take for each. Other registers change.
func (h *hook) rawWords(f rawField, first, n int, take func(i int)) {
	c := h.code
	info, status, ok := h.host.status()
	if !ok {
		refuse("arguments of system calls: programs cannot tell tasks of 32 bits")
	}
	small, end := c.label(), c.label()
	c.call(asm.FnGetCurrentTaskBtf)
	c.emit(asm.LoadMem(asm.R2, asm.R0, int16(info+status), asm.Word), asm.And.Imm(asm.R2, compatStatus),
		asm.LoadMem(asm.R1, asm.R6, int16(8*f.arg), asm.DWord))
	c.ifImm(asm.JNE, asm.R2, 0, small)
	words := func(members []string, size asm.Size) {
		for i, m := range members[first : first+n] {
			at, ok := h.host.member(f.typ, m)
			if !ok {
				refuse("the kernel's types do not show %s.%s", f.typ, m)
			}
			c.emit(asm.LoadMem(asm.R0, asm.R1, int16(at), size))
			take(i)
		}
	}
	words(f.words, asm.DWord)
	c.goTo(end)
	c.place(small)
	words(f.compat, asm.Word)
	c.place(end)
}

// status is where a task says that its system call is one of 32 bits.
func (h *Host) status() (info, status int, ok bool) {
	info, known := h.member("task_struct", "thread_info")
	status, ok = h.member("thread_info", "status")
	return info, status, ok && known && h.TaskStorage
}

// tells32 reports that programs can tell system calls of 32 bits.
func (h *Host) tells32() bool {
	_, _, ok := h.status()
	return ok
}

// compatStatus is TS_COMPAT of arch/x86/include/asm/thread_info.h: the running
// system call is one of 32 bits.
const compatStatus = 2
