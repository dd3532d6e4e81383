// Package hook is the event that calls a program, seen by the program: its record, its
// arguments or its registers, the sample members, and what the kernel notes beside them.
// Package bpf generates programs with it; what it cannot read it refuses.
package hook

import (
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file is the place where a program runs, and how it reads what it is called
// with. R6 points there: to the event's record, to the arguments of a raw
// tracepoint (raw.go), or to the registers of a sample.

// A Hook is the event that calls a program.
type Hook struct {
	Code   *assembler.Code
	Host   *features.Host
	Event  *Event // nil: a sample filter, which knows the members alone
	Index  int    // of the program
	Kind   ebpf.ProgramType
	Raw    *RawPoint    // nil if it is no raw tracepoint
	Direct *Direct      // nil if the function of a probe does not call it by itself
	Target *load.Target // of the image; the threads that traced() is about
	Linked bool         // one link attaches the program to many functions
	// Place is where the place that was hit is on the stack, see FindCall; 0 says that the kernel tells it.
	Place int16
}

// New is the hook of an event, whose program has an index.
func New(c *assembler.Code, host *features.Host, e *Event, index int, target *load.Target) *Hook {
	c.Scratch = load.ScratchMap.Of(index)
	h := &Hook{Code: c, Host: host, Event: e, Index: index, Kind: ebpf.TracePoint, Target: target}
	switch {
	case e.Sampled:
		h.Kind = ebpf.PerfEvent
	case e.Probe != nil:
		h.Kind = ebpf.Kprobe
	}
	return h
}

// common is how many bytes of the record a program must not touch: the kernel
// keeps a pointer there.
const common = 8

// Sizes holds the sizes of numbers that one instruction reads, by bytes.
var Sizes = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// Record reads size bytes of the record.
func (h *Hook) Record(dst asm.Register, off, size int, signed bool) {
	s, ok := Sizes[size]
	switch {
	case h.OfProbe():
		assembler.Refuse("%s has no record", h.Event.Label)
	case !ok || off < 0 || off%size != 0 || off+size > 1<<12:
		assembler.Refuse("a field of %d bytes at %d of the record", size, off)
	case off < common:
		assembler.Refuse("the common fields of a record: the kernel hides them from programs")
	}
	if cut, ok := h.CallNumbers(); ok && off >= cut {
		assembler.Refuse("programs do not see the texts that the kernel reads for %s", h.Event.Label)
	}
	h.Code.Emit(asm.LoadMem(dst, asm.R6, int16(off), s))
	if signed {
		h.Code.Extend(dst, 8*size, true)
	}
}

// CallNumbers is where the numbers of a system call end that has texts beside them (6.19): the
// kernel reads these for perf's records. Programs get the numbers alone.
func (h *Hook) CallNumbers() (end int, ok bool) {
	s := h.Event.Schema
	if s.System != "syscalls" {
		return 0, false
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		if text := f.Place == event.DataLoc || f.Place == event.RelLoc; text && (!ok || f.Offset < end) {
			end, ok = f.Offset, true
		}
	}
	return end, ok
}

// Locator leaves in dst where a text of the record is, or how long it is.
func (h *Hook) Locator(dst asm.Register, n *expr.Field) {
	f := n.F
	known := f.Place == event.DataLoc || f.Place == event.RelLoc
	if h.Raw != nil || h.OfProbe() || !known || n.Part.Past() {
		assembler.Refuse("the place of field %s", f.Name)
	}
	h.Record(dst, f.Offset, 4, false)
	if n.View == expr.ViewLen {
		h.Code.Emit(asm.RSh.Imm(dst, 16))
		return
	}
	h.Code.Emit(asm.And.Imm(dst, 0xffff))
	if f.Place == event.RelLoc {
		h.Code.Emit(asm.Add.Imm(dst, int32(f.Offset)+4))
	}
}

// Period is the event's weight: 1, unless the kernel says otherwise.
func (h *Hook) Period(dst asm.Register) {
	switch {
	case h.Kind == ebpf.PerfEvent:
		h.Code.Emit(asm.LoadMem(dst, asm.R6, periodAt, asm.DWord))
	case Weighted(h.Event.Schema):
		assembler.Refuse("the period of %s", h.Event.Label)
	case h.Event != nil && h.Event.Period > 1:
		h.Code.Constant(dst, int64(h.Event.Period))
	default:
		h.Code.Emit(asm.Mov.Imm(dst, 1))
	}
}

// Weighted reports that the events count as many, by __perf_count of
// include/trace/events/sched.h.
func Weighted(s *event.Schema) bool { return strings.HasPrefix(s.FullName(), "sched:sched_stat_") }

// Unpreempted keeps the program on its CPU, with nobody in between, until the
// function that it returns has generated the end of that. Programs of ordinary
// tracepoints are run like that anyway, as programs of probes in the kernel are; programs of
// probes in user space, and programs that functions call by themselves, do so from their begin.
func (h *Hook) Unpreempted() (on func()) {
	if h.Kind == ebpf.TracePoint || h.OfProbe() {
		return func() {}
	}
	on, _ = h.preemption()
	return on
}

// preemption disables it, until the function that it returns has enabled it again;
// false if this kernel's programs cannot.
func (h *Hook) preemption() (on func(), ok bool) {
	if !h.canDisablePreemption() {
		return func() {}, false
	}
	disable, _ := h.Host.Function("bpf_preempt_disable") // 6.10
	enable, _ := h.Host.Function("bpf_preempt_enable")
	h.Code.KernelFunction(disable)
	return func() { h.Code.KernelFunction(enable) }, true
}

func (h *Hook) canDisablePreemption() bool {
	if h.Host.Function == nil {
		return false
	}
	_, ok := h.Host.Function("bpf_preempt_disable")
	return ok
}

// Array copies an array of the record to the stack.
func (h *Hook) Array(to int16, f *event.Field) {
	h.EachWord(f, func(i int) { h.Code.Store(to+int16(8*i), asm.R0) })
}

// EachWord reads each word of an array of the record into R0, and calls take. R1 and R2 are lost, and
// what a call of a helper loses.
func (h *Hook) EachWord(f *event.Field, take func(i int)) {
	if h.Raw != nil {
		of := h.Raw.Fields[f.Name]
		h.rawWords(of, 0, len(of.Words), take)
		return
	}
	if h.Kind != ebpf.TracePoint {
		assembler.Refuse("field %s is not in the record", f.Name)
	}
	for i := range f.Size / 8 {
		h.Record(asm.R0, f.Offset+8*i, 8, false)
		take(i)
	}
}
