package state

import (
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/hook"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file says what waits of an event for its partner, in the memory of a join, and copies
// it from there. Package bpf calls it, and makes what waits.

// What waits: when, and which event, 0 if nobody; then the fields.
const (
	WaitingTime   = 0
	WaitingEvent  = 8
	WaitingFields = 16
)

// WaitingLimit bounds the fields of a waiting event, in bytes; they are copied to the stack.
const WaitingLimit = 192

// What waits beside fields.
const (
	NodeName    = "node"   // of a call that nests
	InsideName  = "inside" // likewise
	TaskName    = "task"
	ContextName = "context"
	StackName   = "call stack"
	PlaceName   = "place" // of many functions
)

// What is added to the name of a text that may have been cut, and of an argument of a probe that
// may not have been read.
const (
	CutName  = "..."
	ReadName = "?"
)

// A Field is a field of starts that somebody reads of the pair.
type Field struct {
	Name  string
	Of    *expr.Field // as the start itself reads it
	Event int         // the input whose field it is; the same field of others is separate
	Off   int         // in what waits
	Size  int
	Text  bool
	Array bool
	// Located says that the field is a text whose place only the record tells, which
	// lines show, Read that it is an argument of a probe in memory, with whether it could be read.
	Located, Read bool
	User          bool // it is an argument that is a text of the process
	Sent          bool // only records of pairs have it
}

// FieldName tells the fields of one event apart: an own field may hide a sample member of its name.
func FieldName(n *expr.Field) string {
	s := string([]rune{'0' + rune(n.Part), '0' + rune(n.F.Place)})
	if n.F.Place == event.InMember {
		return s + string(rune('a'+n.F.Member))
	}
	return s + n.F.Name
}

// FieldOf is a field that waits with an event and that lines show. located is the room for a text
// whose place only the record tells, room that for another text.
func FieldOf(f *expr.Field, source, located int, room func(f *expr.Field) int) Field {
	own := &expr.Field{F: f.F, View: f.View}
	w := Field{Name: FieldName(own), Of: own, Event: source, Size: 8}
	switch {
	case hook.IsLocated(f):
		w.Located, w.Size = true, located
		w.Name += CutName
	case hook.IsUserText(f.F):
		w.User, w.Size = true, located
		w.Name += CutName
	case hook.ArgumentInMemory(f.F):
		w.Read, w.Size = true, 16
		w.Name += ReadName
	case f.F.Kind == event.Str:
		w.Text, w.Size = true, room(own)
	case f.F.Kind == event.Array:
		w.Array, w.Size = true, hook.ArraySize(f.F, WaitingLimit)
	}
	return w
}

// Direct reports that the field is numbers of the record, which no registers but the first are
// needed for.
func (w *Field) Direct(h *hook.Hook) bool {
	switch f := w.Of.F; {
	case w.Name == PlaceName, w.Located, w.Text, w.User, w.Read, f.Read != nil, f.Place != event.InRaw,
		h.OfProbe():
		return false
	}
	return true
}

// A Waiting is what waits of the events of a join. Its zero value has room for none.
type Waiting struct {
	Fields []Field
	bytes  int
}

// Size is that of what waits, in bytes.
func (r *Waiting) Size() int { return WaitingFields + r.bytes }

// Save has a field wait with its event, once. Events of different streams use the same
// memory: only one waits in a place.
func (r *Waiting) Save(f Field) {
	f.Off = WaitingFields
	for i := range r.Fields {
		have := &r.Fields[i]
		if have.Event != f.Event {
			continue
		}
		if have.Name == f.Name {
			have.Sent = have.Sent && f.Sent
			return
		}
		f.Off = have.Off + have.Size
	}
	r.bytes = max(r.bytes, f.Off+f.Size-WaitingFields)
	r.Fields = append(r.Fields, f)
}

// At is the index of what waits with an event under a name; -1 if nothing does.
func (r *Waiting) At(source int, name string) int {
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Event == source && f.Name == name {
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
	now := r.words(func(f *Field) bool { return ends(f.Event) && !(f.Sent && stays) })
	then := r.words(func(f *Field) bool { return ends(f.Event) && f.Sent && stays })
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
