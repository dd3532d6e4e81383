package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads events of probes that programs send as a part of a derived event (a pair,
// or an event that a fold emits), or keep in a flight buffer. Such an event has no sample.
// Event.Rec has the hash of its stack, or zeros, and then for each register and each
// argument of its schema
//
//	u64 state    notSent, known, or unreadable
//	u64 value
//
// then for each argument that is a text of the process
//
//	u64 length   with its NUL; 0 if it was not sent, or not in memory
//	u8  text[TextMost]
//
// and for each number that was read from the kernel's memory when the event happened its state and
// value.

const (
	wordSize = 16
	// TextMost bounds the text of an argument, its NUL included.
	TextMost = 128
)

// The states of a word.
const (
	notSent = iota
	known
	unreadable
)

// Words are the offsets of registers and arguments in Event.Rec, by sample member, and
// its size.
type Words struct {
	at   map[event.Member]int
	size int
}

// WordsOf returns the Words of a schema: the words of its fields, and the words from which fields
// are computed. Only schemas of probes have words. The values of reads follow them.
func WordsOf(s *event.Schema, reads ...event.Member) Words {
	w := Words{map[event.Member]int{}, StackKey}
	add := func(m event.Member, size int) {
		if _, have := w.at[m]; !have && m.OfRegister() {
			w.at[m] = w.size
			w.size += size
		}
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		switch {
		case f.Place != event.InMember:
			continue
		case f.Kind == event.Str:
			add(f.Member, 8+TextMost)
		default:
			add(f.Member, wordSize)
		}
		for _, m := range f.Uses() {
			add(m, wordSize)
		}
	}
	for _, m := range reads {
		w.at[m] = w.size
		w.size += wordSize
	}
	return w
}

// A Word is a word of the sent record: 8 bytes at From. If Read, it was read from memory,
// and 8 more bytes are 0 if reading succeeded. For a text, the word is its length, and Text
// more bytes follow.
type Word struct {
	From, To int // To is an offset of Words
	Read     bool
	Text     int
}

func (w *Word) sent() int {
	switch {
	case w.Text > 0:
		return 8 + w.Text
	case w.Read:
		return 16
	}
	return 8
}

// addWord adds a member that is sent as w.
func (c *Projection) addWord(all Words, m event.Member, w Word) {
	w.To, c.BesideSize = all.at[m], all.size
	c.Beside = append(c.Beside, w)
}

// beside makes Event.Rec from the sent record, and the hash of the event's stack if it has one.
func (x *Records) beside(sent, hash []byte) []byte {
	if x.BesideSize == 0 {
		return hash
	}
	rec := x.words.take(x.BesideSize)
	copy(rec, hash)
	for i := range x.Beside {
		w := &x.Beside[i]
		from, to := sent[w.From:w.From+w.sent()], rec[w.To:]
		if w.Text > 0 {
			copy(to, from)
			if binary.LittleEndian.Uint64(from) == uint64(w.Text) {
				copy(to[8+w.Text-1-len(cutMark):], cutMark)
			}
			continue
		}
		state := uint64(known)
		if w.Read && binary.LittleEndian.Uint64(from[8:]) != 0 {
			state = unreadable
		}
		binary.LittleEndian.PutUint64(to, state)
		copy(to[8:16], from)
	}
	return rec
}

// besideMembers are the members of events whose Event.Rec has words.
type besideMembers struct {
	words Words
	find  func(hash []byte) []uint64 // nil if the events have no stacks
}

// Callchain implements event.Members.
func (m *besideMembers) Callchain(e *event.Event) []uint64 {
	if m.find == nil || len(e.Rec) < StackKey {
		return nil
	}
	return m.find(e.Rec[:StackKey])
}

// Member implements event.Members.
func (m *besideMembers) Member(e *event.Event, f event.Member) (uint64, bool) {
	v, state := m.word(e, f)
	return v, state == known
}

// Argument implements event.Arguments.
func (m *besideMembers) Argument(e *event.Event, f event.Member) (v uint64, ok, sent bool) {
	v, state := m.word(e, f)
	return v, state == known, state != notSent
}

func (m *besideMembers) word(e *event.Event, f event.Member) (v, state uint64) {
	at, ok := m.words.at[f]
	if !ok || at+wordSize > len(e.Rec) {
		return 0, notSent
	}
	return binary.LittleEndian.Uint64(e.Rec[at+8:]), binary.LittleEndian.Uint64(e.Rec[at:])
}

// MemberText implements event.MemberTexts.
func (m *besideMembers) MemberText(e *event.Event, f event.Member) (text []byte, ok bool) {
	at, ok := m.words.at[f]
	if !ok || at+8+TextMost > len(e.Rec) {
		return nil, false
	}
	n := binary.LittleEndian.Uint64(e.Rec[at:])
	if n == 0 || n > TextMost {
		return nil, false
	}
	return e.Rec[at+8 : at+8+int(n)-1], true
}

// An arena is memory for many parts of about the same size that are freed
// together.
type arena struct {
	chunks [][]byte
	chunk  int // in use
	off    int // bytes of the chunk that are in use
}

// chunkSize is the memory that is allocated at once, in bytes.
const chunkSize = 64 << 10

// take returns memory of a size. It is not cleared.
func (a *arena) take(size int) []byte {
	if a.chunk == len(a.chunks) {
		a.chunks = append(a.chunks, make([]byte, max(chunkSize, size)))
	}
	b := a.chunks[a.chunk][a.off : a.off+size : a.off+size]
	if a.off += (size + 7) &^ 7; a.off+size > len(a.chunks[a.chunk]) {
		a.chunk, a.off = a.chunk+1, 0
	}
	return b
}

func (a *arena) release() { a.chunk, a.off = 0, 0 }
