package sent

import (
	"bytes"
	"encoding/binary"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Projection lists the fields of an event that a program sends, with their offsets in the sent
// record and in the event's own record.
type Projection struct {
	// Size is the size of the record that events get. 0 means that the event's
	// own record is sent as a whole, after Skip bytes.
	Size, Skip int
	Copies     []Copy
	// Located are texts whose offset is in the record.
	Located []LocatedText
	// SampleMembers are the offsets of the context members in the sent record:
	// words of 8 bytes, or texts that end with a NUL.
	SampleMembers map[event.Member]int
	// Read are the offsets of arguments of probes that are read from memory: the
	// value, and a word that is 0 if reading succeeded.
	Read map[event.Member]int
	// Addresses are the arguments of probes that are texts of the process; their values
	// are addresses.
	Addresses map[event.Member]bool
	// Beside are the registers and arguments of a probe's event that is a part of a
	// derived event; BesideSize is the memory that they need. Words has the offsets of
	// these values in such events of a stream. See words.go.
	Beside     []Word
	BesideSize int
	Words      Words
	// Stacks returns the stack of an event by its hash; nil if the events have no
	// stacks.
	Stacks func(hash []byte) []uint64
	// Texts is the end of the fixed part of the sent record, whose last word
	// says where texts are; 0 if there are none. See bpf/eval/usertext.go.
	Texts int
	// PartTexts says that the event is the start of pairs whose records have its texts.
	PartTexts bool
}

// A Copy copies the bytes of a field, from From in the sent record to To in the event's record.
type Copy struct{ From, To, Size int }

// A LocatedText is a text at From in the sent record, in Room bytes: the locator from the kernel's
// record, and then the text, cut if it does not fit. It is copied to Text in the event's record,
// and the locator at To is set to its new offset and length, relative as in __rel_loc if Rel. A
// text that was cut ends with "...".
type LocatedText struct {
	From, Room, To, Text int
	Rel                  bool
}

// LocatorSize is the number of bytes before the text of a LocatedText.
const LocatorSize = 8

// show copies a text into the event's record.
func (l *LocatedText) show(raw, sent []byte) {
	from, room := sent[l.From+LocatorSize:l.From+l.Room], raw[l.Text:l.Text+l.Room]
	n := bytes.IndexByte(from, 0)
	if n < 0 {
		n = len(from) - 1
	}
	copy(room, from[:n])
	clear(room[n:])
	whole := int(binary.LittleEndian.Uint16(sent[l.From+2:])) // with its NUL
	if n == len(from)-1 && n+1 < whole {
		copy(room[n-len(cutMark):], cutMark)
	}
	at := l.Text
	if l.Rel {
		at -= l.To + 4
	}
	binary.LittleEndian.PutUint32(raw[l.To:], uint32(n+1)<<16|uint32(at))
}

// Project returns the projection from columns to the record of an event that is a part of a
// derived event.
func Project(schema *event.Schema, columns []Column) *Projection {
	p := &Projection{Size: max(schema.Size, 8)}
	var reads []event.Member
	for i := range columns {
		if c := &columns[i]; c.isRead() {
			reads = append(reads, c.Of.F.Member)
		}
	}
	words := WordsOf(schema, reads...)
	for i := range columns {
		c := &columns[i]
		switch {
		case c.Origin != Field:
		case c.Form == Located:
			f := c.Of.F
			p.Located = append(p.Located, LocatedText{From: c.Off, Room: c.Size, To: f.Offset,
				Rel: f.Place == event.RelLoc})
		case c.isRead(), c.Of.F.Place == event.InMember && c.Of.F.Member.OfRegister() && c.Form != Text:
			w := Word{From: c.Off, Read: c.Form == Read}
			if c.Form == UserText {
				w.Text = c.Size - LocatorSize
			}
			p.addWord(words, c.Of.F.Member, w)
		case c.Of.F.Place == event.InRaw && c.Of.View == expr.ViewValue:
			p.copies(c)
		}
	}
	p.placeTexts()
	return p
}

// isRead reports that a column is a number that was read from the kernel's
// memory.
func (c *Column) isRead() bool { return c.Origin == Field && c.Of.F.Read != nil && c.Form != Text }

// copies adds a Copy of the field's bytes into the record.
func (p *Projection) copies(c *Column) {
	f := c.Of.F
	p.Copies = append(p.Copies, Copy{From: c.Off, To: f.Offset, Size: f.Size})
	p.Size = max(p.Size, f.Offset+f.Size)
}

// ProjectOwn returns the projection of an event that is sent itself; its sample members stay in
// the sent record. whole says that the event's own record is sent too, after size bytes.
func ProjectOwn(schema *event.Schema, columns []Column, whole bool, size int) *Projection {
	p := &Projection{SampleMembers: map[event.Member]int{}, Read: map[event.Member]int{},
		Addresses: map[event.Member]bool{}}
	for i := range columns {
		c := &columns[i]
		switch {
		case c.Origin == Context:
			p.Copies = append(p.Copies, Copy{From: c.Off + ContextFlags/8, To: 2, Size: 1},
				Copy{From: c.Off + ContextPreempt/8, To: 3, Size: 1})
		case c.Form == Read:
			p.Read[c.Of.F.Member] = c.Off
		case c.Of.F.Place == event.InMember:
			p.SampleMembers[c.Of.F.Member] = c.Off
		default:
			p.copies(c)
		}
	}
	if whole {
		p.Size, p.Skip = 0, size
	} else {
		p.Size = max(p.Size, schema.Size, 8)
	}
	return p
}

// placeTexts sets the offsets of texts in the event's record, after all other
// fields.
func (c *Projection) placeTexts() {
	for i := range c.Located {
		l := &c.Located[i]
		l.Text = (max(c.Size, l.To+4) + 7) &^ 7
		c.Size = l.Text + l.Room
	}
}

// cutMark ends a text that was cut.
const cutMark = "..."

// Records makes the events' records of one stream in one buffer.
type Records struct {
	*Projection
	need  int   // bytes of the sent record
	raw   arena // every part has the fields at the same offsets, so that the bytes between them stay zero
	words arena
}

// NewRecords returns the Records for a projection.
func NewRecords(c *Projection) *Records {
	x := &Records{Projection: c, need: c.Skip}
	for _, k := range c.Copies {
		x.need = max(x.need, k.From+k.Size)
	}
	for _, l := range c.Located {
		x.need = max(x.need, l.From+l.Room)
	}
	for _, off := range c.SampleMembers {
		x.need = max(x.need, off+8)
	}
	for _, off := range c.Read {
		x.need = max(x.need, off+16)
	}
	for _, w := range c.Beside {
		x.need = max(x.need, w.From+w.sent())
	}
	return x
}

// Show makes the event's record from the sent record; nil if that is too short.
//
// Fast path: this runs for every sample of such a stream. The bytes between the
// fields are never written, so they stay zero.
func (x *Records) Show(sent []byte) []byte {
	if len(sent) < x.need {
		return nil
	}
	if x.Size == 0 {
		return sent[x.Skip:x.recordEnd(sent)]
	}
	raw := x.raw.take(x.Size)
	for i := range x.Copies {
		c := &x.Copies[i]
		switch c.Size {
		case 8:
			binary.LittleEndian.PutUint64(raw[c.To:], binary.LittleEndian.Uint64(sent[c.From:]))
		case 4:
			binary.LittleEndian.PutUint32(raw[c.To:], binary.LittleEndian.Uint32(sent[c.From:]))
		default:
			copy(raw[c.To:c.To+c.Size], sent[c.From:])
		}
	}
	for i := range x.Located {
		x.Located[i].show(raw, sent)
	}
	return raw
}

// Release frees the memory of all records.
func (x *Records) Release() {
	x.raw.release()
	x.words.release()
}

// projectedMembers reads the context members from a sent record.
type projectedMembers struct{ members, read map[event.Member]int }

// Callchain implements event.Members: programs send none.
func (m *projectedMembers) Callchain(*event.Event) []uint64 { return nil }

// Member implements event.Members.
func (m *projectedMembers) Member(e *event.Event, f event.Member) (uint64, bool) {
	off, ok := m.members[f]
	if at := HeadSize + off; ok && e.Kind == event.Sample && at+8 <= len(e.Rec) {
		return binary.LittleEndian.Uint64(e.Rec[at:]), true
	}
	return 0, false
}

// Argument implements event.Arguments.
func (m *projectedMembers) Argument(e *event.Event, f event.Member) (v uint64, ok, sent bool) {
	if off, known := m.read[f]; known {
		at := HeadSize + off
		if e.Kind != event.Sample || at+16 > len(e.Rec) || binary.LittleEndian.Uint64(e.Rec[at+8:]) != 0 {
			return 0, false, true
		}
		return binary.LittleEndian.Uint64(e.Rec[at:]), true, true
	}
	if _, known := m.members[f]; !known {
		return 0, false, false
	}
	v, ok = m.Member(e, f)
	return v, ok, true
}
