package hook

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/runtime/event"
	"ppscript/runtime/record/sent"
)

// This file computes the context of an event: the CPU, and the flags and the preemption
// count that the kernel writes to the common fields of its record.

// Of preempt_count() in linux/preempt.h, and of enum trace_flag_type in
// linux/trace_events.h.
const (
	preemptDepth  = 0xff
	softIRQBits   = 0xff00
	servesSoftIRQ = 0x100
	hardIRQBits   = 0xf0000
	nmiBits       = 0xf00000

	flagIRQsOff     = 1
	flagLazy        = 2
	flagNeedResched = 4
	flagHardIRQ     = 8
	flagSoftIRQ     = 0x10
	flagPreempt     = 0x20
	flagNMI         = 0x40
	flagBHOff       = 0x80
)

// TaskContext reports events that always happen in the context of a task, with interrupts
// on and no lock held. lockedContext reports events that always happen under the lock of
// a run queue or of a task, with interrupts off. For other events a program asks the
// kernel, which is possible from 6.14 on.
func TaskContext(s *event.Schema) bool {
	switch s.FullName() {
	case "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_process_exec",
		"sched:sched_process_exit":
		return true
	}
	return false
}

func lockedContext(s *event.Schema) bool {
	switch s.FullName() {
	case "sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new", "sched:sched_waking":
		return true
	}
	return false
}

// Moment writes the context of the event (sent.Context) to a place. flags adds
// the flags of a record's common fields, computed as tracing_gen_ctx_irq_test in
// kernel/trace/trace.c does: the kernel fills them only after the programs. count
// adds the preemption count.
func (m *Members) Moment(to int16, flags, count bool) {
	c, host := m.hook.Code, m.hook.Host
	c.Load(asm.R0, m.processor())
	c.Store(to, asm.R0)
	if !flags {
		return
	}
	source := m.hook.Event
	user := source.Probe != nil && source.Probe.User
	switch {
	case user && !m.hook.canDisablePreemption():
		// The kernel disables preemption while it makes a record; a program
		// that cannot disable it reads another count.
		assembler.Refuse("only the record of %s tells what was disabled, which lines show", source.Label)
	case !user && !TaskContext(source.Schema) && !lockedContext(source.Schema) && !m.tellsIRQs():
		assembler.Refuse("only the record of %s tells whether interrupts were disabled, which lines show",
			source.Label)
	case host.NeedResched == 0 || host.LazyResched == 0:
		assembler.Refuse("programs do not see the flags of tasks of this kernel, which lines show")
	}
	if count {
		m.preemptCount()
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	}
	switch {
	case lockedContext(source.Schema):
		c.Emit(asm.Mov.Imm(asm.R8, flagIRQsOff))
	case user, TaskContext(source.Schema):
		c.Emit(asm.Mov.Imm(asm.R8, 0))
	default:
		m.flagIRQs(asm.R8)
	}

	// flag sets a flag in R8 if a register has a bit of mask.
	flag := func(value asm.Register, mask, flag int32) {
		skip := c.Label()
		c.Emit(asm.Mov.Reg32(asm.R1, value), asm.And.Imm32(asm.R1, mask))
		c.IfImm(asm.JEq, asm.R1, 0, skip)
		c.Emit(asm.Or.Imm(asm.R8, flag))
		c.Place(skip)
	}
	m.taskFlags()
	c.Emit(asm.Mov.Reg(asm.R9, asm.R0))
	if host.LazyResched != features.NoFlag {
		flag(asm.R9, 1<<host.LazyResched, flagLazy)
	}
	flag(asm.R9, 1<<host.NeedResched, flagNeedResched)
	folded, stays := c.Label(), c.Label()
	c.IfImm(asm.JSet, asm.R8, flagNeedResched, folded)
	c.GoTo(stays)
	// Slow path: another CPU sets the task's flag first, and the flag in the
	// preemption count later.
	c.Place(folded)
	if !count {
		m.preemptCount()
		c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	}
	c.Emit(asm.Mov.Reg32(asm.R1, asm.R7), asm.RSh.Imm(asm.R1, 31))
	c.IfImm(asm.JNE, asm.R1, 0, stays) // PREEMPT_NEED_RESCHED is inverted
	c.Emit(asm.Or.Imm(asm.R8, flagPreempt))
	c.Place(stays)
	if count {
		flag(asm.R7, nmiBits, flagNMI)
		flag(asm.R7, hardIRQBits, flagHardIRQ)
		flag(asm.R7, servesSoftIRQ, flagSoftIRQ)
		if host.TellsBH() {
			flag(asm.R7, softIRQBits&^(2*servesSoftIRQ-1), flagBHOff)
		}
		deep := c.Label()
		c.Emit(asm.And.Imm(asm.R7, preemptDepth))
		c.IfImm(asm.JLE, asm.R7, 0xf, deep)
		c.Emit(asm.Mov.Imm(asm.R7, 0xf))
		c.Place(deep)
		c.Emit(asm.LSh.Imm(asm.R7, sent.ContextPreempt-sent.ContextFlags), asm.Or.Reg(asm.R8, asm.R7))
	}
	c.Load(asm.R0, to)
	c.Emit(asm.LSh.Imm(asm.R8, sent.ContextFlags), asm.Or.Reg(asm.R0, asm.R8))
	c.Store(to, asm.R0)
}

// irqsEnabled is X86_EFLAGS_IF, the flag for enabled interrupts. On other architectures
// Moment is refused for other reasons.
const irqsEnabled = 1 << 9

// tellsIRQs reports that a program can ask the kernel whether interrupts are
// disabled.
func (m *Members) tellsIRQs() bool {
	if m.hook.Host.Function == nil {
		return false
	}
	_, save := m.hook.Host.Function("bpf_local_irq_save") // 6.14
	_, restore := m.hook.Host.Function("bpf_local_irq_restore")
	return save && restore
}

// flagIRQs leaves flagIRQsOff in dst if interrupts are disabled, else 0. It calls the
// kernel's function that disables interrupts and saves the old flags, reads these, and calls
// the function that restores them. The verifier forbids to load the saved flags, so the
// helper that reads the kernel's memory reads them.
func (m *Members) flagIRQs(dst asm.Register) {
	c, host := m.hook.Code, m.hook.Host
	save, _ := host.Function("bpf_local_irq_save")
	restore, _ := host.Function("bpf_local_irq_restore")
	mark := c.Stack
	flags, at := c.Alloc(8), c.Alloc(8)
	c.Emit(assembler.StoreImm(asm.R10, at, irqsEnabled))
	c.Addr(asm.R1, flags)
	c.KernelFunction(save)
	c.Addr(asm.R1, at)
	c.Emit(asm.Mov.Imm(asm.R2, 8))
	c.Addr(asm.R3, flags)
	c.Call(asm.FnProbeReadKernel)
	c.Addr(asm.R1, flags)
	c.KernelFunction(restore)
	c.Load(dst, at)
	c.Emit(asm.RSh.Imm(dst, 9), asm.And.Imm(dst, 1), asm.Xor.Imm(dst, flagIRQsOff))
	c.Stack = mark
}

// preemptCount leaves preempt_count() in R0. It is a per-CPU variable, whose address
// not all kernels show. But the running task leads to another per-CPU variable, the
// run queue, and the kernel's types have the distance between them. The verifier lets
// a program follow a task's pointers directly, so that only the count itself needs a
// call of a helper.
func (m *Members) preemptCount() {
	c, host := m.hook.Code, m.hook.Host
	count, known := host.PreemptCount()
	queue, is := host.PerCPU("runqueues")
	if !known || !is {
		assembler.Refuse("programs do not see the preemption count of this kernel, which lines show")
	}
	mark := c.Stack
	at := c.Alloc(8)
	if host.TaskStorage { // then a task has its type
		entity, hasEntity := host.Member("task_struct", "se")
		fair, hasFair := host.Member("sched_entity", "cfs_rq")
		back, hasBack := host.Member("cfs_rq", "rq")
		if !hasEntity || !hasFair || !hasBack {
			assembler.Refuse("programs do not see the run queue of a task of this kernel, which lines show")
		}
		c.Emit(assembler.StoreImm(asm.R10, at, 0))
		c.Call(asm.FnGetCurrentTaskBtf)
		c.Emit(asm.LoadMem(asm.R3, asm.R0, int16(entity+fair), asm.DWord),
			asm.LoadMem(asm.R3, asm.R3, int16(back), asm.DWord))
	} else {
		m.follow("preemption count", at, 8, "task_struct", "se", "", "sched_entity", "cfs_rq", "->",
			"cfs_rq", "rq")
		c.Load(asm.R3, at)
		c.Emit(assembler.StoreImm(asm.R10, at, 0))
	}
	c.Emit(asm.Add.Imm(asm.R3, int32(count-queue)), asm.Mov.Imm(asm.R2, 4))
	c.Addr(asm.R1, at)
	c.Call(asm.FnProbeReadKernel)
	c.Emit(asm.LoadMem(asm.R0, asm.R10, at, asm.Word))
	c.Stack = mark
}

// taskFlags leaves thread_info.flags of the running task in R0.
func (m *Members) taskFlags() {
	c, host := m.hook.Code, m.hook.Host
	mark := c.Stack
	at := c.Alloc(8)
	if host.TaskStorage { // then a task has its type
		info, has := host.Member("task_struct", "thread_info")
		bits, is := host.Member("thread_info", "flags")
		if !has || !is {
			assembler.Refuse("programs do not see the flags of tasks of this kernel, which lines show")
		}
		c.Call(asm.FnGetCurrentTaskBtf)
		c.Emit(asm.LoadMem(asm.R0, asm.R0, int16(info+bits), asm.DWord))
	} else {
		m.follow("flags of a task", at, 8, "task_struct", "thread_info", "", "thread_info", "flags")
		c.Load(asm.R0, at)
	}
	c.Stack = mark
}
