package bpf

import (
	"runtime"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file reads integer fields: of the record, whose bytes the program gets
// as its context; of the arguments of a raw tracepoint; of the current task;
// of the start of a pair, which were saved when it came.

// common is how many bytes of the record a program must not touch: the kernel
// keeps a pointer there.
const common = 8

// samplePeriod is where the context of a sampled event has its period, behind
// the registers; must match struct bpf_perf_event_data in
// arch/*/include/uapi/asm/bpf_perf_event.h and linux/bpf_perf_event.h.
var samplePeriod = map[string]int16{"amd64": 21 * 8, "arm64": 34 * 8}[runtime.GOARCH]

// field reads n into dst, and no other register changes.
func (g *gen) field(dst asm.Register, n *expr.Field) {
	c := g.code
	if at, _ := g.env.saved(n); at != 0 {
		c.load(dst, at)
		return
	}
	f := n.F
	switch n.View {
	case expr.ViewValue:
	case expr.ViewOffset, expr.ViewLen:
		g.locator(dst, n)
		return
	default:
		refuse("the bytes of field %s", f.Name)
	}
	if f.Place == event.InMember {
		g.member(dst, n)
		return
	}
	if at, _ := g.env.slot(n); at != 0 {
		c.load(dst, at)
		return
	}
	if f.Place == event.InSlot && g.env.isKey(n) {
		if g.env.pair.join.text {
			refuse("field key is a text")
		}
		c.load(dst, g.env.pair.key)
		return
	}
	if f.Kind != event.Int {
		refuse("field %s is not a number", f.Name)
	}
	if f.Name == "common_pid" && f.Size == 4 {
		c.emit(asm.LoadMem(dst, asm.R10, g.pidTgid(), asm.Word))
		return
	}
	if g.raw != nil {
		g.rawField(dst, f.Name)
		return
	}
	if f.Place != event.InRaw || g.kind == ebpf.PerfEvent {
		refuse("field %s is not in the record", f.Name)
	}
	g.ctx(dst, f.Offset, f.Size, f.Signed)
}

var sizes = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// ctx reads size bytes of the record.
func (g *gen) ctx(dst asm.Register, off, size int, signed bool) {
	s, ok := sizes[size]
	switch {
	case !ok || off < 0 || off%size != 0 || off+size > 1<<12:
		refuse("a field of %d bytes at %d of the record", size, off)
	case off < common:
		refuse("the common fields of a record: the kernel hides them from programs")
	}
	g.code.emit(asm.LoadMem(dst, asm.R6, int16(off), s))
	if signed {
		g.code.extend(dst, 8*size, true)
	}
}

func (g *gen) locator(dst asm.Register, n *expr.Field) {
	f := n.F
	if g.raw != nil || f.Place != event.DataLoc && f.Place != event.RelLoc || n.Part == expr.Start {
		refuse("the place of field %s", f.Name)
	}
	g.ctx(dst, f.Offset, 4, false)
	if n.View == expr.ViewLen {
		g.code.emit(asm.RSh.Imm(dst, 16))
		return
	}
	g.code.emit(asm.And.Imm(dst, 0xffff))
	if f.Place == event.RelLoc {
		g.code.emit(asm.Add.Imm(dst, int32(f.Offset)+4))
	}
}

func (g *gen) member(dst asm.Register, n *expr.Field) {
	c := g.code
	switch n.F.Member {
	case event.MemberTID:
		c.emit(asm.LoadMem(dst, asm.R10, g.pidTgid(), asm.Word))
	case event.MemberPID:
		c.emit(asm.LoadMem(dst, asm.R10, g.pidTgid()+4, asm.Word))
	case event.MemberCPU:
		if g.members.cpu == 0 {
			panic("BUG: cpu was not foreseen")
		}
		c.load(dst, g.members.cpu)
	case event.MemberDelay:
		if g.env.pair == nil || n.Part != expr.Self {
			refuse("delay of what is not a pair")
		}
		c.load(dst, g.env.pair.delay)
	case event.MemberPeriod:
		g.period(dst)
	case event.MemberTime:
		if g.env.fold == nil || g.members.time == 0 {
			refuse("times: the kernel's programs have another clock than perf")
		}
		c.load(dst, g.members.time)
	default:
		at, ok := g.members.context[n.F.Member]
		if !ok {
			refuse("field %s: programs do not have it", n.F.Name)
		}
		c.load(dst, at)
		g.code.extend(dst, 8*n.F.Size, n.F.Signed)
	}
}

// period is the event's weight: 1, unless the kernel says otherwise.
func (g *gen) period(dst asm.Register) {
	switch {
	case g.kind == ebpf.PerfEvent:
		g.code.emit(asm.LoadMem(dst, asm.R6, samplePeriod, asm.DWord))
	case weighted(g.graph.sources[g.index].Schema):
		refuse("the period of %s", g.graph.sources[g.index].Label)
	default:
		g.code.emit(asm.Mov.Imm(dst, 1))
	}
}

// weighted reports that the events count as many, by __perf_count of
// include/trace/events/sched.h.
func weighted(s *event.Schema) bool { return strings.HasPrefix(s.FullName(), "sched:sched_stat_") }

func (g *gen) pidTgid() int16 {
	if g.members.pid == 0 {
		panic("BUG: pid was not foreseen")
	}
	return g.members.pid
}

// members are fetched once, in front of everything; these are their places on
// the stack.
type members struct {
	pid, cpu int16
	time     int16
	context  map[event.Member]int16
}

// savedName tells the fields of one event apart: an own field may hide a sample member
// of its name.
func savedName(n *expr.Field) string {
	s := string(rune('0'+n.F.Place)) + n.F.Name
	if n.F.Place == event.InMember {
		s = string(rune('0'+n.F.Place)) + string(rune('a'+n.F.Member))
	}
	return s
}

// needs finds what n reads: sample members to be fetched.
func (g *gen) needs(n expr.Node, pid, cpu, time *bool) {
	for _, f := range expr.UsesOf(n).Fields {
		switch {
		case f.Part == expr.Start:
		case f.Is(event.MemberCPU):
			*cpu = true
		case isStack(f):
			*pid = true
		case isTime(f):
			*time = true
		case f.Is(event.MemberPID), f.Is(event.MemberTID), f.F.Name == "common_pid":
			*pid = true
		}
	}
}
