package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file fetches the sample members that a program reads. Each is fetched once,
// in front of everything else, to a place of the stack; the target's checks need
// some of them anyway.

// Members fetches the sample members of a program, and holds their places.
type Members struct {
	hook  *Hook
	wants struct{ pid, cpu, time, cgroup bool }

	// Places on the stack; 0 if not fetched.
	pid, cpu int16
	cgroup   int16
	time     int16
	function int16
	context  map[event.Member]int16
	// Operands holds the places of a probe's arguments that lie in memory: two words
	// each, the number and the error, 0 if it could be read.
	Operands map[event.Member]int16
}

// Foresee finds the sample members that nodes read.
func (m *Members) Foresee(nodes ...expr.Node) {
	for _, n := range nodes {
		for _, f := range expr.UsesOf(n).Fields {
			switch {
			case f.Part.Past():
			case f.Is(event.MemberCPU):
				m.wants.cpu = true
			case f.Is(event.MemberCgroup):
				m.wants.cgroup = true
			case IsStack(f):
				// Only user addresses need the process.
				m.wants.pid = m.wants.pid || m.hook.Event.Stack == nil || m.hook.Event.Stack.User
			case IsTime(f):
				m.wants.time = true
			case f.Is(event.MemberPID), f.Is(event.MemberTID), f.F.Name == "common_pid":
				m.wants.pid = true
			}
		}
	}
}

// Check emits the checks of a target, and fetches the sample members that they read
// as well. It jumps to exit for events outside the target, or on other CPUs than
// only.
func (m *Members) Check(t *load.Target, only []int, exit assembler.Label) {
	c := m.hook.Code
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
		assembler.Refuse("CPUs in %d ranges", len(ranges))
	}
	if m.wants.cgroup {
		if no := m.hook.Host.NoCgroup; no != "" {
			assembler.Refuse("%s", no)
		}
		c.Call(asm.FnGetCurrentCgroupId)
		m.cgroup = c.Alloc(8)
		c.Store(m.cgroup, asm.R0)
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

// NewMembers returns the members of the event of a hook; none is fetched yet.
func NewMembers(h *Hook) *Members { return &Members{hook: h} }

// WantsTime reports that some expression reads the time.
func (m *Members) WantsTime() bool { return m.wants.time }

// Time is the place of the time; 0 if it was not fetched.
func (m *Members) Time() int16 { return m.time }

// Now fetches the time if some expression reads it.
func (m *Members) Now() {
	if m.wants.time {
		m.FetchTime()
	}
}

// FetchTime fetches the time, even if no expression reads it, and returns its place.
func (m *Members) FetchTime() int16 {
	c := m.hook.Code
	c.Call(asm.FnKtimeGetNs)
	m.time = c.Alloc(8)
	c.Store(m.time, asm.R0)
	return m.time
}

// PidTgid is the place of the running task's numbers: its thread, and in the
// upper half its process.
func (m *Members) PidTgid() int16 {
	if m.pid == 0 {
		panic("BUG: pid was not foreseen")
	}
	return m.pid
}

// processor is the place of the number of the CPU.
func (m *Members) processor() int16 {
	if m.cpu == 0 {
		panic("BUG: cpu was not foreseen")
	}
	return m.cpu
}

// Read leaves a sample member in dst.
func (m *Members) Read(dst asm.Register, f *event.Field) {
	c := m.hook.Code
	switch f.Member {
	case event.MemberTID:
		c.Emit(asm.LoadMem(dst, asm.R10, m.PidTgid(), asm.Word))
	case event.MemberPID:
		c.Emit(asm.LoadMem(dst, asm.R10, m.PidTgid()+4, asm.Word))
	case event.MemberCPU:
		c.Load(dst, m.processor())
	case event.MemberCgroup:
		if m.cgroup == 0 {
			panic("BUG: the cgroup was not foreseen")
		}
		c.Load(dst, m.cgroup)
	case event.MemberAddr:
		if m.hook.Kind != ebpf.PerfEvent {
			assembler.Refuse("%s: only samples have it", f.Name)
		}
		c.Emit(asm.LoadMem(dst, asm.R6, periodAt+8, asm.DWord)) // bpf_perf_event_data.addr
	case event.MemberIP:
		m.hook.Register(dst, f.Name, instructionPointer)
	default:
		if f.Member >= event.MemberReg && f.Member < event.MemberArg {
			m.hook.Register(dst, f.Name, uint8(f.Member-event.MemberReg))
			return
		}
		at, ok := m.context[f.Member]
		if !ok {
			assembler.Refuse("field %s: programs do not have it", f.Name)
		}
		c.Load(dst, at)
		c.Extend(dst, 8*f.Size, f.Signed)
	}
}

// IsTime reports that a field is the time of its event.
func IsTime(n *expr.Field) bool {
	return n.F.Place == event.InMember && n.F.Member == event.MemberTime && n.View == expr.ViewValue
}
