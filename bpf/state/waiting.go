package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file says what waits of an event for its partner, in the memory of a join, and copies
// it from there. Package bpf calls it, and makes what waits.

// What waits: when, and which event, 0 if nobody; then the fields.
const (
	WaitingTime   = 0
	WaitingEvent  = 8
	WaitingFields = 16
)

// WaitingLimit bounds the fields of a waiting event, in bytes.
const WaitingLimit = 1 << 10

// A Field is a column of starts: one that somebody reads of the pair, or that is sent.
type Field struct {
	// Column is as the start itself has it; its place counts from the begin of what waits.
	sent.Column
	Event    int  // the input whose column it is; the same one of others is separate
	PairOnly bool // only records of pairs have it
	name     string
}

// FieldName tells the fields of one event apart: an own field may hide a sample member of its name.
func FieldName(n *expr.Field) string {
	s := string([]rune{'0' + rune(n.Part), '0' + rune(n.F.Place)})
	if n.F.Place == event.InMember {
		return s + string(rune('a'+n.F.Member))
	}
	return s + n.F.Name
}

// name tells the columns of one event apart. A text that may have been cut, and an argument of a
// probe that may not have been read, are others than the same fields for operators that compute with them.
func name(c *sent.Column) string {
	switch {
	case c.Origin != sent.Field:
		return string(rune(c.Origin))
	case c.Form == sent.Located, c.Form == sent.UserText:
		return FieldName(c.Of) + "..."
	case c.Form == sent.Read:
		return FieldName(c.Of) + "?"
	}
	return FieldName(c.Of)
}

// Direct reports that the field is numbers of the record, which no registers but the first are
// needed for.
func (w *Field) Direct(h *hook.Hook) bool {
	return w.Origin == sent.Field && (w.Form == sent.Number || w.Form == sent.Array) && w.Of.F.Read == nil &&
		w.Of.F.Place == event.InRaw && !h.OfProbe()
}

// A Waiting is what waits of the events of a join. Its zero value has room for none.
type Waiting struct {
	Fields []Field
	bytes  int
}

// Size is the size of a waiting event, in bytes.
func (r *Waiting) Size() int { return WaitingFields + r.bytes }

// Save has a field wait with its event, once. Events of different streams use the same
// memory: only one waits in a place.
func (r *Waiting) Save(f Field) {
	f.Off, f.name = WaitingFields, name(&f.Column)
	for i := range r.Fields {
		have := &r.Fields[i]
		if have.Event != f.Event {
			continue
		}
		if have.name == f.name {
			have.PairOnly = have.PairOnly && f.PairOnly
			return
		}
		f.Off = have.Off + have.Size
	}
	r.bytes = max(r.bytes, f.Off+f.Size-WaitingFields)
	r.Fields = append(r.Fields, f)
}

// At is the index of what waits with an event as a column; -1 if nothing does.
func (r *Waiting) At(source int, c *sent.Column) int {
	name := name(c)
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Event == source && f.name == name {
			return i
		}
	}
	return -1
}

// words are those, by number, of the fields that wanted picks.
func (r *Waiting) words(wanted func(f *Field) bool) (words [WaitingLimit / 8]bool) {
	for i := range r.Fields {
		f := &r.Fields[i]
		if !wanted(f) {
			continue
		}
		for at := f.Off; at < f.Off+f.Size; at += 8 {
			words[(at-WaitingFields)/8] = true
		}
	}
	return words
}

// Copied copies to the stack what is read of the event that waits at R7: its time, its number, and its
// fields, whose places it leaves in places. ends tells of which events fields are read. stays says that
// the memory stays with the thread: then later copies the fields that only records of pairs have, since
// most pairs are not sent; it is nil if there are none.
func (r *Waiting) Copied(c *assembler.Code, begun, who int16, places []int16, ends func(source int) bool,
	stays bool) (later func()) {
	word := func(to int16, memory asm.Register, from int) {
		c.Emit(asm.LoadMem(asm.R1, memory, int16(from), asm.DWord))
		c.Store(to, asm.R1)
	}
	word(begun, asm.R7, WaitingTime)
	word(who, asm.R7, WaitingEvent)
	now := r.words(func(f *Field) bool { return ends(f.Event) && !(f.PairOnly && stays) })
	then := r.words(func(f *Field) bool { return ends(f.Event) && f.PairOnly && stays })
	size, some := 0, false
	for i := range now {
		then[i] = then[i] && !now[i]
		if some = some || then[i]; now[i] || then[i] {
			size = 8 * (i + 1)
		}
	}
	saved := c.Alloc(size)
	for i, f := range r.Fields {
		places[i] = saved + int16(f.Off-WaitingFields)
	}
	copyAll := func(words [WaitingLimit / 8]bool, memory asm.Register) {
		for i, is := range words {
			if is {
				word(saved+int16(8*i), memory, WaitingFields+8*i)
			}
		}
	}
	copyAll(now, asm.R7)
	if !some {
		return nil
	}
	memory := c.Alloc(8)
	c.Store(memory, asm.R7)
	return func() {
		c.Load(asm.R2, memory)
		copyAll(then, asm.R2)
	}
}
