package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file fetches the context members: the state of the running task and its
// CPU. All is read from structures whose members are found by the kernel's
// types, so that it works on every kernel with type information.
//
// The run queue is found through the running task (se.cfs_rq.rq), which needs
// no address of a symbol: not all kernels show the addresses of variables.

// Fetch fetches what nodes read of the event beside its record: context members, and arguments of a
// probe that lie in memory. R6 is the context.
func (m *Members) Fetch(nodes []expr.Node) {
	m.fetchContext(nodes)
	m.fetchOperands(nodes)
}

// fetchContext fetches the context members that nodes read.
func (m *Members) fetchContext(nodes []expr.Node) {
	c := m.hook.Code
	for _, n := range nodes {
		expr.Walk(n, func(n expr.Node) bool {
			f, ok := n.(*expr.Field)
			if !ok || f.Part.Past() || f.F.Place != event.InMember || !f.F.Member.OfContext() ||
				f.F.Read != nil {
				return true
			}
			if _, have := m.context[f.F.Member]; have {
				return true
			}
			at := c.Alloc(8)
			m.fetch(f.F.Member, f.F.Name, at)
			if m.context == nil {
				m.context = map[event.Member]int16{}
			}
			m.context[f.F.Member] = at
			return true
		})
	}
}

// fetch writes a context member to a place of the stack.
func (m *Members) fetch(f event.Member, name string, at int16) {
	c := m.hook.Code
	switch f {
	case event.MemberIRQsOff:
		m.irqsOff(name)
	case event.MemberNeedResched:
		if m.hook.Host.NeedResched == 0 {
			assembler.Refuse("%s: the flag of this kernel is not known", name)
		}
		m.follow(name, at, 8, "task_struct", "thread_info", "", "thread_info", "flags")
		c.Load(asm.R0, at)
		c.Emit(asm.RSh.Imm(asm.R0, int32(m.hook.Host.NeedResched)), asm.And.Imm(asm.R0, 1))
	case event.MemberNrRunning:
		m.follow(name, at, 4, "task_struct", "se", "", "sched_entity", "cfs_rq", "->", "cfs_rq", "rq", "->",
			"rq", "nr_running")
		c.Emit(asm.LoadMem(asm.R0, asm.R10, at, asm.Word))
	case event.MemberSchedPolicy:
		m.follow(name, at, 4, "task_struct", "policy")
		c.Emit(asm.LoadMem(asm.R0, asm.R10, at, asm.Word))
	case event.MemberPrio:
		m.follow(name, at, 4, "task_struct", "prio")
		c.Emit(asm.LoadMem(asm.R0, asm.R10, at, asm.Word))
	default:
		panic("BUG: context member " + name)
	}
	c.Store(at, asm.R0)
}

// irqsOff leaves in R0 whether interrupts are disabled. Only programs of samples
// get the real registers; programs of tracepoints get made-up ones, and must ask
// the kernel.
func (m *Members) irqsOff(name string) {
	switch {
	case m.hook.Kind != ebpf.PerfEvent && m.hook.Kind != ebpf.Kprobe && m.tellsIRQs():
		m.flagIRQs(asm.R0)
		return
	case m.hook.Kind != ebpf.PerfEvent:
		assembler.Refuse("%s: programs of tracepoints do not see the CPU's flags before Linux 6.14", name)
	}
	c := m.hook.Code
	off, shift, enabled := interruptsAt()
	c.Emit(asm.LoadMem(asm.R0, asm.R6, off, asm.DWord), asm.RSh.Imm(asm.R0, shift), asm.And.Imm(asm.R0, 1))
	if enabled {
		c.Emit(asm.Xor.Imm(asm.R0, 1))
	}
}

// follow reads size bytes to a place: a member of the running task, or of a
// structure to which its members lead. The path lists pairs of a structure and
// a member; "" between two pairs says that the next structure lies inside the
// member, "->" that the member points to it.
func (m *Members) follow(name string, at int16, size int, path ...string) {
	c := m.hook.Code
	c.Emit(assembler.StoreImm(asm.R10, at, 0))
	c.Call(asm.FnGetCurrentTask)
	c.Emit(asm.Mov.Reg(asm.R3, asm.R0))
	offset := 0
	for i := 0; ; i += 3 {
		off, ok := m.hook.Host.Member(path[i], path[i+1])
		if !ok {
			assembler.Refuse("%s: the kernel's types do not show %s.%s", name, path[i], path[i+1])
		}
		offset += off
		last := i+2 >= len(path)
		if !last && path[i+2] == "" {
			continue
		}
		n := 8
		if last {
			n = size
		}
		c.Emit(asm.Add.Imm(asm.R3, int32(offset)), asm.Mov.Imm(asm.R2, int32(n)))
		c.Addr(asm.R1, at)
		c.Call(asm.FnProbeReadKernel)
		if last {
			return
		}
		c.Load(asm.R3, at)
		offset = 0
	}
}
