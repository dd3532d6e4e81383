package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// This file lays out events that wait for their partner in the memory of a join, and copies
// their fields from there. Package bpf writes them.

// The offsets in a waiting event: its time; its input plus 1, or 0 if no event
// waits there; then its fields.
const (
	WaitingTime   = 0
	WaitingEvent  = 8
	WaitingFields = 16
)

// The offsets of the first two fields of a call that waits for its return: its node in the tree of calls,
// and the time of the calls inside it.
const (
	WaitingNode   = WaitingFields
	WaitingInside = WaitingFields + 8
)

// WaitingLimit bounds the fields of a waiting event, in bytes.
const WaitingLimit = 1 << 10

// A Field is a column that waits with an event, since expressions on the pair read it,
// or since it is sent.
type Field struct {
	// Column is the column of the start's own event; its offset counts from the begin of
	// the waiting event.
	sent.Column
	Event    int  // the input whose column it is; the same column of another input is a Field of its own
	PairOnly bool // only records of pairs need it
	name     string
}

// FieldName is a unique name of a field within its event: a field of the event may have the name of
// a sample member.
func FieldName(n *expr.Field) string {
	s := string([]rune{'0' + rune(n.Part), '0' + rune(n.F.Place)})
	if n.F.Place == event.InMember {
		return s + string(rune('a'+n.F.Member))
	}
	return s + n.F.Name
}

// name is a unique name of a column within its event. A text that may be cut, and an argument of a
// probe that may be unreadable, are only for records: operators that compute with the same fields
// have columns of their own.
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

// Direct reports that the field consists of numbers of the record, which can be read without
// registers other than R0.
func (w *Field) Direct(h *hook.Hook) bool {
	return w.Origin == sent.Field && (w.Form == sent.Number || w.Form == sent.Array) && w.Of.F.Read == nil &&
		w.Of.F.Place == event.InRaw && !h.OfProbe()
}

// A Waiting is the layout of the waiting events of a join. Its zero value has no
// fields.
type Waiting struct {
	Fields []Field
	bytes  int
}

// Size is the size of a waiting event, in bytes.
func (r *Waiting) Size() int { return WaitingFields + r.bytes }

// Save adds a field to the waiting events of its input, once. Events of different
// inputs use the same offsets: only one event waits in a place.
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

// At is the index of the Field that holds a column of an input; -1 if none
// does.
func (r *Waiting) At(source int, c *sent.Column) int {
	name := name(c)
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Event == source && f.name == name {
			return i
		}
	}
	return -1
}

// words marks the words of the fields that wanted accepts.
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

// Copied copies from the waiting event at R7: its time to begun, the number of its input plus 1 to the
// place who, and the fields that are read, whose places it stores in places. ends reports whether
// fields of an input
// are read. stays says that the memory stays with the thread: then later copies the fields that
// only records need, since most pairs are not sent; it is nil if there are none.
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
