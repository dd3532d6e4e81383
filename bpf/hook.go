package bpf

import (
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/ptregs"
	"ppscript/bpf/rawpoint"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file is the place where a program runs, and how it reads what it is called
// with. R6 points there: to the event's record, to the arguments of a raw
// tracepoint (raw.go), or to the registers of a sample.

// A hook is the event that calls a program.
type hook struct {
	code   *code
	host   *Host
	source *source // nil: a sample filter, which knows the members alone
	index  int     // of the program
	kind   ebpf.ProgramType
	raw    *rawpoint.Point // nil if it is no raw tracepoint
	target *Target         // of the image; the threads that traced() is about
}

// newHook is the hook of source i of an image.
func (im *Image) newHook(c *code, i int) *hook {
	e := im.graph.sources[i]
	h := &hook{code: c, host: im.host, source: e, index: i, kind: ebpf.TracePoint, target: im.Target}
	switch {
	case e.Sampled:
		h.kind = ebpf.PerfEvent
	case e.Probe != nil:
		h.kind = ebpf.Kprobe
	}
	return h
}

// common is how many bytes of the record a program must not touch: the kernel
// keeps a pointer there.
const common = 8

var sizes = map[int]asm.Size{1: asm.Byte, 2: asm.Half, 4: asm.Word, 8: asm.DWord}

// ctx reads size bytes of the record.
func (h *hook) ctx(dst asm.Register, off, size int, signed bool) {
	s, ok := sizes[size]
	switch {
	case h.kind == ebpf.Kprobe:
		refuse("%s has no record", h.source.Label)
	case !ok || off < 0 || off%size != 0 || off+size > 1<<12:
		refuse("a field of %d bytes at %d of the record", size, off)
	case off < common:
		refuse("the common fields of a record: the kernel hides them from programs")
	}
	h.code.Emit(asm.LoadMem(dst, asm.R6, int16(off), s))
	if signed {
		h.code.Extend(dst, 8*size, true)
	}
}

func (h *hook) locator(dst asm.Register, n *expr.Field) {
	f := n.F
	known := f.Place == event.DataLoc || f.Place == event.RelLoc
	if h.raw != nil || h.kind == ebpf.Kprobe || !known || n.Part == expr.Start {
		refuse("the place of field %s", f.Name)
	}
	h.ctx(dst, f.Offset, 4, false)
	if n.View == expr.ViewLen {
		h.code.Emit(asm.RSh.Imm(dst, 16))
		return
	}
	h.code.Emit(asm.And.Imm(dst, 0xffff))
	if f.Place == event.RelLoc {
		h.code.Emit(asm.Add.Imm(dst, int32(f.Offset)+4))
	}
}

// period is the event's weight: 1, unless the kernel says otherwise.
func (h *hook) period(dst asm.Register) {
	switch {
	case h.kind == ebpf.PerfEvent:
		h.code.Emit(asm.LoadMem(dst, asm.R6, ptregs.Period, asm.DWord))
	case weighted(h.source.Schema):
		refuse("the period of %s", h.source.Label)
	default:
		h.code.Emit(asm.Mov.Imm(dst, 1))
	}
}

// weighted reports that the events count as many, by __perf_count of
// include/trace/events/sched.h.
func weighted(s *event.Schema) bool { return strings.HasPrefix(s.FullName(), "sched:sched_stat_") }

// unpreempted keeps the program on its CPU, with nobody in between, until the
// function that it returns has generated the end of that. Programs of ordinary
// tracepoints are run like that anyway, as those of probes in the kernel; those of
// probes in programs do so from their begin (alone).
func (h *hook) unpreempted() (on func()) {
	if h.kind == ebpf.TracePoint || h.kind == ebpf.Kprobe {
		return func() {}
	}
	on, _ = h.preemption()
	return on
}

// preemption disables it, until the function that it returns has enabled it again;
// false if this kernel's programs cannot.
func (h *hook) preemption() (on func(), ok bool) {
	if h.host.Function == nil {
		return func() {}, false
	}
	disable, ok := h.host.Function("bpf_preempt_disable") // 6.10
	enable, is := h.host.Function("bpf_preempt_enable")
	if !ok || !is {
		return func() {}, false
	}
	h.code.KernelFunction(disable)
	return func() { h.code.KernelFunction(enable) }, true
}
