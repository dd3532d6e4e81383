package sent

import (
	"bytes"
	"encoding/binary"

	"ppscript/runtime/event"
	"ppscript/runtime/record/latetext"
)

// This file finds the texts of the process that a program sent after the fixed part
// of a record. The last word before Projection.Texts has the offsets of their begin
// and end, 32 bits each. A text is its address and its length with the NUL, 64 bits
// each, and then its bytes, padded to a multiple of 8.

// TextHead is the number of bytes before a text: address and length.
const TextHead = 16

// textMembers are the members of events with texts.
type textMembers struct {
	*projectedMembers
	fixedPart int
	addresses map[event.Member]bool
	late      *latetext.Texts
}

// Members returns the members of the samples. late has the texts that programs read
// later.
func (c *Projection) Members(late *latetext.Texts) event.Members {
	if c.Words.size > StackKey {
		return &besideMembers{c.Words, c.Stacks}
	}
	m := &projectedMembers{c.SampleMembers, c.Read}
	if c.PartTexts {
		return &partMembers{m, c.Stacks}
	}
	if c.Stacks != nil {
		return &stackMembers{m, c.Stacks}
	}
	if c.Texts == 0 {
		return m
	}
	return &textMembers{m, c.Texts, c.Addresses, late}
}

// Text implements event.Texts.
func (m *textMembers) Text(e *event.Event, addr uint64) (text []byte, ok bool) {
	if e.Kind != event.Sample || len(e.Rec) < HeadSize {
		return nil, false
	}
	sent := e.Rec[HeadSize:]
	from, to := textsIn(sent, m.fixedPart)
	if text, ok = textAmong(sent[from:to], addr); ok {
		text = m.read(e, addr, text)
	}
	return text, ok
}

// textAmong finds the text at an address, with its NUL.
func textAmong(texts []byte, addr uint64) (text []byte, ok bool) {
	for len(texts) >= TextHead {
		n := binary.LittleEndian.Uint64(texts[8:])
		if n == 0 || n > uint64(len(texts)-TextHead) {
			return nil, false
		}
		if binary.LittleEndian.Uint64(texts) == addr {
			return texts[TextHead : TextHead+int(n)], true
		}
		texts = texts[min(len(texts), TextHead+(int(n)+7)&^7):]
	}
	return nil, false
}

// partMembers are the members of events that are a part of a derived event and have texts.
// Event.Rec has the hash of the stack, or zeros, and then the texts.
type partMembers struct {
	*projectedMembers
	find func(hash []byte) []uint64 // nil if the events have no stacks
}

// withTexts returns the Event.Rec for partMembers; hash is nil if the event has no stack.
func withTexts(memory *arena, hash, sent []byte, fixedPart int) []byte {
	from, to := textsIn(sent, fixedPart)
	rec := memory.take(StackKey + to - from)
	clear(rec[copy(rec[:StackKey], hash):StackKey])
	copy(rec[StackKey:], sent[from:to])
	return rec
}

// Callchain implements event.Members.
func (m *partMembers) Callchain(e *event.Event) []uint64 {
	if m.find == nil || len(e.Rec) < StackKey {
		return nil
	}
	return m.find(e.Rec[:StackKey])
}

// Text implements event.Texts.
func (m *partMembers) Text(e *event.Event, addr uint64) (text []byte, ok bool) {
	if len(e.Rec) < StackKey {
		return nil, false
	}
	if text, ok = textAmong(e.Rec[StackKey:], addr); ok {
		text = text[:len(text)-1]
	}
	return text, ok
}

// MemberText implements event.MemberTexts, for texts that a program read from
// the kernel's memory.
func (m *projectedMembers) MemberText(e *event.Event, f event.Member) (text []byte, ok bool) {
	off, known := m.members[f]
	if !known || e.Kind != event.Sample || HeadSize+off > len(e.Rec) {
		return nil, false
	}
	text = e.Rec[HeadSize+off:]
	n := bytes.IndexByte(text, 0)
	if n < 0 {
		return nil, false
	}
	return text[:n:n], true
}

// MemberText implements event.MemberTexts: an argument of a probe that is a text of the
// process is found by its address.
func (m *textMembers) MemberText(e *event.Event, f event.Member) (text []byte, ok bool) {
	if !m.addresses[f] {
		return m.projectedMembers.MemberText(e, f)
	}
	addr, ok, _ := m.Argument(e, f)
	if !ok {
		return nil, false
	}
	return m.Text(e, addr)
}

// read returns a text that was sent, without its NUL. If the text was missing, it
// returns the text that was read later.
func (m *textMembers) read(e *event.Event, addr uint64, text []byte) []byte {
	number, missing := latetext.Number(text)
	if !missing {
		return text[:len(text)-1]
	}
	task := binary.LittleEndian.Uint64(e.Rec[HeadTask:])
	if later, ok := m.late.Text(latetext.Key{Number: number, Task: task, Addr: addr}); ok {
		return later
	}
	return text[:len(event.UserTextFault)]
}

// textsIn returns the offsets at which the texts of a sent record begin and
// end.
func textsIn(sent []byte, fixedPart int) (from, to int) {
	if fixedPart > len(sent) {
		return 0, 0
	}
	from, to = int(binary.LittleEndian.Uint32(sent[fixedPart-8:])),
		int(binary.LittleEndian.Uint32(sent[fixedPart-4:]))
	if from < fixedPart || from > to || to > len(sent) {
		return 0, 0
	}
	return from, to
}

// recordEnd returns the end of an event's own record that was sent as a whole.
func (c *Projection) recordEnd(sent []byte) int {
	if c.Texts > 0 {
		if from, _ := textsIn(sent, c.Texts); from > 0 {
			return from
		}
	}
	return len(sent)
}
