package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/record/sent"
)

// This file makes events wait for their partner, and copies the waiting fields that the
// readers of pairs need.

// copied copies the fields of the waiting event at R7 that pairs with the program's event read.
// later copies the fields that only records need; nil if there are none.
func (o *joiner) copied(begun, who int16, fields []int16) (later func()) {
	j := o.join
	stays := j.tasks && !j.spec.Nested && !j.isChained()
	return j.Waits.Copied(o.code, begun, who, fields, o.ends, stays)
}

// isChained reports that other operators than tables work on the pairs.
func (j *joinOp) isChained() bool {
	return slices.ContainsFunc(j.pairs, func(p pair) bool {
		return anyFeed(p.feeds, func(f *feed) bool { return f.join != nil || f.fold != nil })
	})
}

// ends reports that the program's event ends pairs that begin with events of
// the input start.
func (o *joiner) ends(start int) bool {
	return slices.ContainsFunc(o.join.pairs, func(p pair) bool {
		return p.end == o.input && p.start == start
	})
}

// wait makes the event wait under its key, in place of an event that waits
// there.
func (o *joiner) wait(key, now int16, done label) {
	c, j := o.code, o.join
	if j.tasks {
		o.waitInTask(now)
		c.GoTo(done)
		return
	}
	mark := c.Stack
	full := c.Label()
	value := c.Alloc(j.Waits.Size())
	o.fill(value, now)
	c.Put(load.WaitMap.Of(j.Index), key, value, ebpf.UpdateNoExist)
	c.IfImm(asm.JEq, asm.R0, 0, done)
	c.Widen()
	c.IfImm(asm.JNE, asm.R0, -17, full) // EEXIST
	o.count(load.StatUnmatched)
	c.Put(load.WaitMap.Of(j.Index), key, value, ebpf.UpdateAny)
	c.IfImm(asm.JNE, asm.R0, 0, full)
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Stack = mark
}

// waitInTask makes the event wait in the storage of the running thread. Numbers of its record are
// written there directly, not by way of the stack.
func (o *joiner) waitInTask(now int16) {
	c, j := o.code, o.join
	mark := c.Stack
	full, fresh, done := c.Label(), c.Label(), c.Label()
	value := c.Alloc(j.Waits.Size())
	put := func(at int) { c.Emit(asm.StoreMem(asm.R7, int16(at), asm.R0, asm.DWord)) }
	var direct []*state.Field
	var copied [state.WaitingLimit / 8]bool // by word
	for i := range j.Waits.Fields {
		switch sf := &j.Waits.Fields[i]; {
		case sf.Event != o.input:
		case sf.Direct(o.eval.Hook):
			direct = append(direct, sf)
		default:
			c.Zero(value+int16(sf.Off), sf.Size)
			o.fillField(value, sf)
			for at := sf.Off; at < sf.Off+sf.Size; at += 8 {
				copied[(at-state.WaitingFields)/8] = true
			}
		}
	}
	c.TaskValue(load.WaitMap.Of(j.Index), true)
	c.IfImm(asm.JEq, asm.R0, 0, full)
	c.Emit(asm.Mov.Reg(asm.R7, asm.R0), asm.LoadMem(asm.R1, asm.R7, state.WaitingEvent, asm.DWord))
	c.IfImm(asm.JEq, asm.R1, 0, fresh)
	o.count(load.StatUnmatched)
	c.Place(fresh)
	c.Load(asm.R0, now)
	put(state.WaitingTime)
	c.Emit(assembler.StoreImm(asm.R7, state.WaitingEvent, int32(o.input+1)))
	for i, is := range copied {
		if is {
			c.Load(asm.R0, value+int16(state.WaitingFields+8*i))
			put(state.WaitingFields + 8*i)
		}
	}
	for _, sf := range direct {
		if sf.Form == sent.Array {
			o.eval.Hook.EachWord(sf.Of.F, func(i int) { put(sf.Off + 8*i) })
			continue
		}
		o.eval.Field(asm.R0, sf.Of)
		put(sf.Off)
	}
	c.GoTo(done)
	c.Place(full)
	o.count(load.StatEvicted)
	c.Place(done)
	c.Stack = mark
}

// fill writes the event as it waits to a place of the stack: the time now, its
// input, its fields.
func (o *joiner) fill(value, now int16) {
	c, j := o.code, o.join
	c.Zero(value+state.WaitingFields, j.Waits.Size()-state.WaitingFields)
	c.Load(asm.R0, now)
	c.Store(value+state.WaitingTime, asm.R0)
	c.Set(value+state.WaitingEvent, int32(o.input+1))
	for i := range j.Waits.Fields {
		if sf := &j.Waits.Fields[i]; sf.Event == o.input {
			o.fillField(value, sf)
		}
	}
}

// fillField writes one field of the waiting event.
func (o *joiner) fillField(value int16, sf *state.Field) {
	if sf.Origin == sent.Node || sf.Origin == sent.Inside {
		return // see enter
	}
	m := moment{hash: o.hash}
	if o.input == o.eval.Hook.Index { // of derived events only the CPU is recorded
		if m.flags, m.count = o.join.flags, !o.join.Late[sf.Event]; m.flags {
			m.context = o.context
		}
	}
	o.column(value+int16(sf.Off), &sf.Column, m)
}
