package hook

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file gives a program both the arguments of a tracepoint and its record. The kernel calls programs of
// raw tracepoints with the arguments, and others with the record. So there are two: the saver, of the
// ordinary tracepoint, copies the record to a map, and the program itself, of the raw tracepoint, reads it
// there.
//
// The kernel calls them one after the other, in the order in which perf and the raw program came to the
// tracepoint. The saver is attached first (load.Program.Event is -1), and perf stays at the tracepoint until
// it is detached. The record is marked with the thread, and the mark is deleted when the record is read: if
// an interrupt comes between the two and hits the tracepoint too, or the kernel leaves the saver out, the
// program finds no record of its thread, and the event counts as lost. So no event has another's record.

// savedDynamic bounds the bytes of a record with texts of any length.
const savedDynamic = 4096

// savedAt is where the record begins in the map's value; in front of it is the mark.
const savedAt = 8

// PickSaved makes the program one of the raw tracepoint that finds the event's record in a map, if nodes read
// arguments of the tracepoint and PickRaw found no other way. stacked says that the event's stack is read.
func (h *Hook) PickSaved(nodes []expr.Node, stacked bool) {
	e := h.Event
	if h.Raw != nil || h.Host.AsRaw || e.Sampled || e.Probe != nil || stacked && e.Stack.Kernel ||
		!asksArguments(nodes) {
		return
	}
	name := e.Schema.Name
	if p := RawPointOf(e.Schema.FullName()); p != nil {
		name = p.Name
	}
	if h.Host.Raw(name, true) {
		h.Saved = name
	}
}

// savedSize is the number of bytes of the record that are saved.
func (h *Hook) savedSize() int {
	if len(h.dynamic()) > 0 {
		return savedDynamic
	}
	size := 8
	for i := range h.Event.Schema.Fields {
		f := &h.Event.Schema.Fields[i]
		if f.Place == event.InRaw {
			size = max(size, f.Offset+f.Size)
		}
	}
	return (max(size, h.Event.Schema.Size) + 7) &^ 7
}

// dynamic lists the fields whose content is behind the record.
func (h *Hook) dynamic() (list []*event.Field) {
	for i := range h.Event.Schema.Fields {
		f := &h.Event.Schema.Fields[i]
		if f.Place == event.DataLoc || f.Place == event.RelLoc {
			list = append(list, f)
		}
	}
	return list
}

// TakeRecord is the begin of a program that finds its record in the map: from then on R6 points there. A
// record that is not taken is dropped.
func (h *Hook) TakeRecord(exit assembler.Label) {
	if h.Saved == "" {
		return
	}
	c := h.Code
	h.args = c.AllocStack(8)
	h.mark = c.AllocStack(8)
	key := c.AllocStack(8)
	c.Store(h.args, asm.R6)
	c.Zero(key, 8)
	c.Get(load.RecordMap.Of(h.Index), key, exit)
	c.Emit(asm.LoadMem(asm.R1, asm.R0, 0, asm.DWord), asm.StoreMem(asm.R10, h.mark, asm.R1, asm.DWord),
		assembler.StoreImm(asm.R0, 0, 0), asm.Mov.Reg(asm.R6, asm.R0), asm.Add.Imm(asm.R6, savedAt))
}

// CheckRecord counts the event as lost if the record is not of the running thread.
func (h *Hook) CheckRecord(exit assembler.Label) {
	if h.Saved == "" {
		return
	}
	c := h.Code
	own := c.Label()
	c.Call(asm.FnGetCurrentPidTgid)
	c.Emit(asm.Add.Imm(asm.R0, 1))
	c.Load(asm.R1, h.mark)
	c.IfReg(asm.JEq, asm.R0, asm.R1, own)
	c.Count(load.StatsMap.Of(h.Index), load.StatLost)
	c.GoTo(exit)
	c.Place(own)
}

// Context leaves in dst the context with which the kernel called the program.
func (h *Hook) Context(dst asm.Register) {
	if h.Saved != "" {
		h.Code.Load(dst, h.args)
		return
	}
	h.Code.Emit(asm.Mov.Reg(dst, asm.R6))
}

// Argument leaves in dst argument i of the tracepoint; ok is false if the program has none.
func (h *Hook) Argument(dst asm.Register, i int) (ok bool) {
	if h.Raw == nil && h.Saved == "" {
		return false
	}
	h.Context(dst)
	h.Code.Emit(asm.LoadMem(dst, dst, int16(8*i), asm.DWord))
	return true
}

// Saver is the program that saves the record of the event of h, and its map.
func (h *Hook) Saver(c *assembler.Code) (load.Program, load.Map) {
	e := h.Event
	size := h.savedSize()
	end := c.Label()
	c.Emit(asm.Mov.Reg(asm.R6, asm.R1))
	saver := *h
	saver.Code, saver.Saved = c, ""
	for _, f := range h.dynamic() { // all of the record fits
		saver.locator(f)
		c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 16), asm.And.Imm(asm.R0, 0xffff),
			asm.Add.Reg(asm.R0, asm.R1))
		if f.Place == event.RelLoc {
			c.Emit(asm.Add.Imm(asm.R0, int32(f.Offset)+4))
		}
		c.IfImm(asm.JGT, asm.R0, savedDynamic, end)
	}
	key, value := c.AllocStack(8), c.AllocStack(8)
	c.Zero(key, 8)
	c.Get(load.RecordMap.Of(h.Index), key, end)
	c.Store(value, asm.R0)
	c.Emit(asm.Mov.Reg(asm.R1, asm.R0), asm.Add.Imm(asm.R1, savedAt), asm.Mov.Imm(asm.R2, int32(size)),
		asm.Mov.Reg(asm.R3, asm.R6))
	c.Call(asm.FnProbeReadKernel)
	c.IfImm(asm.JNE, asm.R0, 0, end)
	c.Call(asm.FnGetCurrentPidTgid)
	c.Emit(asm.Add.Imm(asm.R0, 1))
	c.Load(asm.R1, value)
	c.Emit(asm.StoreMem(asm.R1, 0, asm.R0, asm.DWord))
	c.Place(end)
	c.Emit(asm.Mov.Imm(asm.R0, 1), asm.Return()) // with 0, others would not get the event
	return load.Program{Label: "record of " + e.Label, Kind: ebpf.TracePoint, Attach: e.Schema.FullName(),
			ID: e.Schema.ID, Ins: c.Finish(), Event: -1},
		load.Map{ID: load.RecordMap.Of(h.Index), Spec: &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
			ValueSize: uint32(savedAt + size), MaxEntries: 1}}
}
