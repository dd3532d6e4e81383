package bpf

import (
	"math/bits"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file keeps the events of a join in memory of the CPU, the newest over the oldest,
// for who shows what happened during a pair (package sent has the form, package window
// reads it). Nobody is woken, and nothing is copied before somebody asks. It takes less
// than half the time of a buffer: no lock, no room to ask for, no reader to wake.
//
// A program takes a number first, and marks the record as whole last. So one that
// interrupts another on its CPU has a record of its own, and who reads sees what is not
// there yet.

// keptMost bounds the fields of a kept record, in bytes.
const keptMost = 1 << 10

// keeps settles the size of kept records, and how many of them there are.
func (s *graph) keeps(bytes int) {
	for _, e := range s.sources {
		for i := range e.feeds {
			r := e.feeds[i].keep
			if r == nil {
				continue
			}
			room := 0
			if r.Stacks && e.Stack != nil {
				s.sendsStack(e, r, 0)
				room = load.StackKey
			}
			r.layFixed(room, locatedRooms[0], keptMost)
			s.kept.Size = max(s.kept.Size, sent.KeptSize+(r.size+7)&^7)
		}
	}
	if s.kept.Size > 0 {
		s.kept.Records = 1 << (bits.Len(uint(max(bytes/s.kept.Size, 2))) - 1)
	}
}

// kept reports that the events of a source are kept.
func (e *source) kept() bool {
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
func (e *source) keepsAlone(host *Host) bool { return !host.Atomics && e.kept() }

// Kept is what the programs keep; nil if they keep nothing.
func (im *Image) Kept() *sent.Kept {
	if im.graph.kept.Size == 0 {
		return nil
	}
	k := im.graph.kept
	for _, e := range im.graph.sources {
		var p *sent.Projection
		stack := false
		for _, f := range e.feeds {
			if f.keep != nil {
				p, stack = f.keep.part(expr.Self, e.Schema), f.keep.stacks[0].spec != nil
			}
		}
		k.Events, k.Stacked = append(k.Events, p), append(k.Stacked, stack)
	}
	return &k
}

// KeptBy is the number that events have which are kept for a join.
func (im *Image) KeptBy(spec *join.Spec) int {
	return slices.IndexFunc(im.graph.joins, func(j *joinOp) bool { return j.spec == spec })
}

// keptMaps adds the memory, whose size for all CPUs is for who loads it to say.
func (im *Image) keptMaps() {
	if k := im.graph.kept; k.Size > 0 {
		im.define(load.KeptCountMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4,
			ValueSize: load.KeptCountSize, Flags: unix.BPF_F_MMAPABLE})
		im.define(load.KeptMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(k.Size),
			MaxEntries: uint32(k.Records), Flags: unix.BPF_F_MMAPABLE})
	}
}

// keep keeps the event, and returns where its time is.
func (o *joiner) keep(f *feed, kept *sent.Kept) (now int16) {
	c, e, r := o.code, o.eval, f.keep
	nowhere, done := c.Label(), c.Label()
	now = c.Alloc(8)
	context := c.Alloc(8)
	o.context = context
	if r.stacks[0].spec != nil {
		o.hash = c.Alloc(load.StackKey)
	}
	mark := c.Stack
	c.Call(asm.FnKtimeGetNs)
	c.Store(now, asm.R0)
	number, key := c.Alloc(8), c.Alloc(8)
	e.Members.Moment(context, true, true)
	if spec := r.stacks[0].spec; spec != nil {
		o.stack(o.hash, spec)
	}
	texts := map[int]int16{}
	for _, slot := range r.slots {
		switch {
		case e.Hook.Pieces(slot.field.F) != nil:
		case slot.text:
			texts[slot.off] = c.Alloc(slot.size)
			e.Text(texts[slot.off], slot.size, slot.field)
		case slot.located && e.Hook.Raw != nil:
			texts[slot.off] = c.Alloc(slot.size)
			e.Hook.Located(texts[slot.off], slot.size, slot.field.F)
		case slot.array:
			texts[slot.off] = c.Alloc(slot.size)
			e.Hook.Array(texts[slot.off], slot.field.F)
		case slot.user:
			texts[slot.off] = c.Alloc(slot.size)
			e.Arguments().Line(texts[slot.off], slot.size, slot.field.F)
		case slot.field.F.Read != nil:
			texts[slot.off] = c.Alloc(slot.size)
			e.Field(asm.R0, slot.field)
			c.Store(texts[slot.off], asm.R0)
		case slot.read:
			texts[slot.off] = c.Alloc(slot.size)
			e.Arguments().Sent(texts[slot.off], slot.field.F)
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
	for _, slot := range r.slots {
		at := sent.KeptSize + slot.off
		if pieces := e.Hook.Pieces(slot.field.F); pieces != nil {
			for _, p := range pieces {
				e.Hook.Record(asm.R0, p.Off, p.Size, false)
				put(at+p.Off-slot.field.F.Offset, asm.R0, hook.Sizes[p.Size])
			}
			continue
		}
		if from, copied := texts[slot.off]; copied {
			for i := 0; i < slot.size; i += 8 {
				c.Load(asm.R0, from+int16(i))
				put(at+i, asm.R0, asm.DWord)
			}
			continue
		}
		if slot.located {
			e.Hook.LocatedHere(at, slot.size, slot.field.F)
			continue
		}
		in := hook.ArgumentScratch(slot.field)
		e.Field(in, slot.field)
		put(at, in, hook.Sizes[slot.size])
	}
	for i := int16(0); o.hash != 0 && i < load.StackKey; i += 8 {
		c.Load(asm.R0, o.hash+i)
		put(sent.KeptSize+int(i), asm.R0, asm.DWord)
	}
	c.Load(asm.R0, now)
	put(sent.KeptTime, asm.R0, asm.DWord)
	c.Load(asm.R0, e.Members.PidTgid())
	put(sent.KeptTask, asm.R0, asm.DWord)
	c.Load(asm.R0, context)
	put(sent.KeptContext, asm.R0, asm.DWord)
	c.Emit(asm.Mov.Imm(asm.R0, int32(o.join.Index<<sent.KeptJoin|e.Hook.Index)))
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
