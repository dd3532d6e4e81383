package bpf

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/load"
	"ppscript/bpf/ptregs"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file fetches the sample members that a program reads. Each is fetched once,
// in front of everything else, to a place of the stack; the target's checks need
// some of them anyway.

// members are the sample members of a program, and where they are.
type members struct {
	hook  *hook
	wants struct{ pid, cpu, time bool }

	// Places on the stack; 0 is not fetched.
	pid, cpu int16
	time     int16
	context  map[event.Member]int16
	operands map[event.Member]int16
}

// foresee finds what nodes read.
func (m *members) foresee(nodes ...expr.Node) {
	for _, n := range nodes {
		for _, f := range expr.UsesOf(n).Fields {
			switch {
			case f.Part == expr.Start:
			case f.Is(event.MemberCPU):
				m.wants.cpu = true
			case isStack(f):
				m.wants.pid = true
			case isTime(f):
				m.wants.time = true
			case f.Is(event.MemberPID), f.Is(event.MemberTID), f.F.Name == "common_pid":
				m.wants.pid = true
			}
		}
	}
}

// check emits the checks of a target, and fetches the sample members that they
// read as well. Events outside the target, or of other CPUs than only, jump to exit.
func (m *members) check(t *Target, only []int, exit label) {
	c := m.hook.code
	tasks := len(t.PIDs)+len(t.TIDs) > 0 || t.Workload
	if m.wants.pid || tasks {
		c.Call(asm.FnGetCurrentPidTgid)
		if m.wants.pid {
			m.pid = c.Alloc(8)
			c.Store(m.pid, asm.R0)
		}
	}
	if tasks {
		c.Tasks(t, exit)
	}
	if len(t.Cgroups) > 0 {
		c.Cgroups(t, exit)
	}
	ranges := load.Ranges(t.CPUs, only)
	if len(ranges) > load.Listed*8 {
		refuse("CPUs in %d ranges", len(ranges))
	}
	if m.wants.cpu || ranges != nil {
		c.Call(asm.FnGetSmpProcessorId)
		if m.wants.cpu {
			m.cpu = c.Alloc(8)
			c.Store(m.cpu, asm.R0)
		}
	}
	if ranges != nil {
		in := c.Label()
		for _, r := range ranges {
			next := c.Label()
			c.IfImm(asm.JLT, asm.R0, int32(r[0]), next)
			c.IfImm(asm.JLE, asm.R0, int32(r[1]), in)
			c.Place(next)
		}
		c.GoTo(exit)
		c.Place(in)
	}
}

// now fetches the time, if somebody reads it.
func (m *members) now() {
	if !m.wants.time {
		return
	}
	c := m.hook.code
	c.Call(asm.FnKtimeGetNs)
	m.time = c.Alloc(8)
	c.Store(m.time, asm.R0)
}

// pidTgid is where the task is: its thread, and in the upper half its process.
func (m *members) pidTgid() int16 {
	if m.pid == 0 {
		panic("BUG: pid was not foreseen")
	}
	return m.pid
}

// read leaves a sample member in dst.
func (m *members) read(dst asm.Register, f *event.Field) {
	c := m.hook.code
	switch f.Member {
	case event.MemberTID:
		c.Emit(asm.LoadMem(dst, asm.R10, m.pidTgid(), asm.Word))
	case event.MemberPID:
		c.Emit(asm.LoadMem(dst, asm.R10, m.pidTgid()+4, asm.Word))
	case event.MemberCPU:
		if m.cpu == 0 {
			panic("BUG: cpu was not foreseen")
		}
		c.Load(dst, m.cpu)
	case event.MemberIP:
		m.hook.register(dst, f.Name, ptregs.IP)
	default:
		if f.Member >= event.MemberReg && f.Member < event.MemberArg {
			m.hook.register(dst, f.Name, uint8(f.Member-event.MemberReg))
			return
		}
		at, ok := m.context[f.Member]
		if !ok {
			refuse("field %s: programs do not have it", f.Name)
		}
		c.Load(dst, at)
		c.Extend(dst, 8*f.Size, f.Signed)
	}
}

func isTime(n *expr.Field) bool {
	return n.F.Place == event.InMember && n.F.Member == event.MemberTime && n.View == expr.ViewValue
}
