package bpf

import (
	"math/bits"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file keeps the events of a join in memory of the CPU, the newest over the oldest,
// to show what happened during a pair (package sent has the form, package flightbuffer
// reads it). No reader is woken, and records are copied only when a pair is shown. It
// takes less than half the time of a buffer: no lock, no room to ask for, no reader to
// wake.
//
// A program takes a number first, and marks the record as whole last. So one that
// interrupts another on its CPU has a record of its own, and the reader sees what is not
// there yet.

// keptMost bounds the fields of a kept record, in bytes.
const keptMost = 1 << 10

// keeps decides the size of kept records, and their number.
func (s *layout) keeps(bytes int) {
	for _, e := range s.sources {
		for i := range e.feeds {
			r := e.feeds[i].keep
			if r == nil {
				continue
			}
			r.columns = nil
			if r.Stacks && e.Stack != nil {
				s.sendsStack(e)
				r.columns = []sent.Column{{Origin: sent.Stack, Size: load.StackKey}}
			}
			r.layFixed(keptMost)
			s.kept.Size = max(s.kept.Size, sent.KeptSize+(r.size+7)&^7)
		}
	}
	if s.kept.Size > 0 {
		s.kept.Records = 1 << (bits.Len(uint(max(bytes/s.kept.Size, 2))) - 1)
	}
}

// keepsEvents reports that the events of a source are kept.
func (e *source) keepsEvents() bool {
	return slices.ContainsFunc(e.feeds, func(f feed) bool { return f.keep != nil })
}

// keptReads are the numbers of the kernel's memory that are kept with the events of a source.
func (e *source) keptReads() []event.Member {
	for i := range e.feeds {
		if r := e.feeds[i].keep; r != nil {
			return r.reads()
		}
	}
	return nil
}

// keepsAlone reports that a program must be one that perf calls, since programs cannot number
// events in one step before 5.12: while perf calls one, it calls no other on the CPU.
func (e *source) keepsAlone(host *Host) bool { return !host.Atomics && e.keepsEvents() }

// KeptLayout describes the records that the programs keep; nil if they keep nothing.
func (im *Image) KeptLayout() *sent.KeptLayout {
	if im.layout.kept.Size == 0 {
		return nil
	}
	k := im.layout.kept
	for _, e := range im.layout.sources {
		var columns []sent.Column
		for _, f := range e.feeds {
			if f.keep != nil {
				columns = sent.Moved(f.keep.columns, sent.KeptSize)
			}
		}
		k.Inputs = append(k.Inputs, columns)
	}
	return &k
}

// KeptBy is the number that marks events kept for a join.
func (im *Image) KeptBy(spec *join.Spec) int {
	return slices.IndexFunc(im.layout.joins, func(j *joinOp) bool { return j.spec == spec })
}

// keptMaps adds the memory, whose size for all CPUs the loader decides.
func (im *Image) keptMaps() {
	if k := im.layout.kept; k.Size > 0 {
		im.define(load.KeptCountMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4,
			ValueSize: load.KeptCountSize, Flags: unix.BPF_F_MMAPABLE})
		im.define(load.KeptMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(k.Size),
			MaxEntries: uint32(k.Records), Flags: unix.BPF_F_MMAPABLE})
	}
}

// keep keeps the event, and returns where its time is.
func (o *joiner) keep(f *feed, kept *sent.KeptLayout) (now int16) {
	c, e, r := o.code, o.eval, f.keep
	nowhere, done := c.Label(), c.Label()
	now = c.Alloc(8)
	context := c.Alloc(8)
	o.context = context
	if slices.ContainsFunc(r.columns, func(c sent.Column) bool { return c.Origin == sent.Stack }) {
		o.hash = c.Alloc(load.StackKey)
	}
	mark := c.Stack
	c.Call(asm.FnKtimeGetNs)
	c.Store(now, asm.R0)
	number, key := c.Alloc(8), c.Alloc(8)
	e.Members.Moment(context, true, true)
	staged := make([]int16, len(r.columns))
	for i := range r.columns {
		if col := &r.columns[i]; col.Origin == sent.Field {
			staged[i] = o.staged(col)
		} else {
			staged[i] = o.hash
			o.column(o.hash, col, moment{})
		}
	}
	e.Field(asm.R0, cpuNode)
	c.Store(key, asm.R0)
	c.Get(load.KeptCountMap.Of(), key, nowhere)
	assembler.Next(c, !e.Hook.Host.Atomics) // see keepsAlone
	c.Store(number, asm.R1)
	c.Load(asm.R0, key)
	c.Emit(asm.LSh.Imm(asm.R0, int32(bits.Len(uint(kept.Records))-1)),
		asm.And.Imm(asm.R1, int32(kept.Records-1)), asm.Add.Reg(asm.R0, asm.R1))
	c.Store(key, asm.R0)
	c.Get(load.KeptMap.Of(), key, nowhere)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0))
	put := func(at int, src asm.Register, size asm.Size) {
		c.Emit(asm.StoreMem(asm.R7, int16(at), src, size))
	}
	for i := range r.columns {
		col := &r.columns[i]
		o.store(sent.KeptSize+col.Off, col, staged[i])
	}
	c.Load(asm.R0, now)
	put(sent.KeptTime, asm.R0, asm.DWord)
	c.Load(asm.R0, e.Members.PidTgid())
	put(sent.KeptTask, asm.R0, asm.DWord)
	c.Load(asm.R0, context)
	put(sent.KeptContext, asm.R0, asm.DWord)
	c.Emit(asm.Mov.Imm(asm.R0, int32(o.join.Index<<sent.KeptJoin|(e.Hook.Index+1))))
	put(sent.KeptContext, asm.R0, asm.Word)
	c.Load(asm.R0, number)
	c.Emit(asm.Add.Imm(asm.R0, 1))
	put(sent.KeptMark, asm.R0, asm.DWord)
	c.GoTo(done)
	c.Place(nowhere)
	o.count(load.StatLost)
	c.Place(done)
	c.Stack = mark
	return now
}
