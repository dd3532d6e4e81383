// Package hook generates the code by which a program reads the event that calls it: the
// record, arguments or registers, the sample members, and the context members. Package
// bpf generates programs with it. It refuses fields that a program cannot read.
package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file describes where a program is attached, and reads the context with
// which the kernel calls it. R6 points to the context: the event's record, the
// arguments of a raw tracepoint (raw.go), or the registers of a probe or a
// sample.

// A Hook is the event that calls a program.
type Hook struct {
	Code   *assembler.Code
	Host   *features.Host
	Event  *Event // nil for a sample filter, which reads only sample members
	Index  int    // of the program
	Kind   ebpf.ProgramType
	Raw    *RawPoint    // nil if the program is not on a raw tracepoint
	Direct *Direct      // nil if no function calls the program through a trampoline
	Target *load.Target // target of the image, to which traced() refers
	Linked bool         // one link attaches the program to many functions
	// Place is the place on the stack of the number that FindCall has stored: which of its calls
	// the event belongs to. 0 if the kernel supplies that number (the attach cookie).
	Place int16
	// Saved is the name of the raw tracepoint that the program is attached to, although it reads the
	// event's record (savedrecord.go); "" for all other programs.
	Saved      string
	args, mark int16 // places of its context, and of the mark of its record
}

// New is the hook of an event; index is the index of its program.
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

// common is the number of bytes at the begin of the record that a program must
// not read: the kernel keeps a pointer there.
const common = 8

// Sizes holds the sizes of numbers that one instruction reads, by bytes.
var Sizes = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// Record reads a number of size bytes of the record into dst.
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

// CallNumbers is the offset at which the numbers end in the record of a system call that has
// texts too (6.19). The kernel reads those texts for perf's records; programs get only the
// numbers. ok is false for all other records.
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

// Locator leaves in dst the offset of a text in the record, or its length.
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

// Period leaves in dst the period of the event: 1, unless the kernel or the
// event's attr sets another.
func (h *Hook) Period(dst asm.Register) {
	switch {
	case h.Kind == ebpf.PerfEvent:
		h.Code.Emit(asm.LoadMem(dst, asm.R6, periodAt, asm.DWord))
	case h.Event.Schema.Weighted():
		assembler.Refuse("the period of %s", h.Event.Label)
	case h.Event != nil && h.Event.Period > 1:
		h.Code.Constant(dst, int64(h.Event.Period))
	default:
		h.Code.Emit(asm.Mov.Imm(dst, 1))
	}
}

// Unpreempted disables preemption until the code of the returned function enables it. Programs
// of ordinary tracepoints and of probes in the kernel run without preemption anyway. Programs
// of probes in user space, and programs called through a trampoline, disable it at their begin
// (Alone).
func (h *Hook) Unpreempted() (on func()) {
	if h.Kind == ebpf.TracePoint && h.Saved == "" || h.OfProbe() {
		return func() {}
	}
	on, _ = h.preemption()
	return on
}

// preemption disables preemption until the code of the returned function enables
// it; ok is false if programs of this kernel cannot.
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

// Array copies an array of the record to a place.
func (h *Hook) Array(to int16, f *event.Field) {
	h.EachWord(f, func(i int) { h.Code.Store(to+int16(8*i), asm.R0) })
}

// EachWord reads each word of an array of the record into R0, followed by the code of take. It
// may overwrite R1 to R5.
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
