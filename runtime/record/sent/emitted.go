package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads what folds emit in programs: events of values alone, at the time and
// place of the event at hand, as the native fold makes them. Behind its head, such a
// record has the values one after the other, numbers with 8 bytes, texts with zeros at
// their end.

// Emits is a stream of what a fold emits that programs send. Their streams have the
// indices behind those of perf.Programs.Pairs.
type Emits struct {
	Schema *event.Schema
	Label  string
	Values []Value // by slot
	Size   int     // of all, in bytes
	// Long finds a text that is longer than its place, by its hash (longtext.go).
	Long func(hash []byte) []byte
	// Around says where the two events are between which it lies; nil are none.
	Around *Around
}

// A Value is one of an emitted event: its bytes in the record, behind the head.
type Value struct {
	At, Size int
	Text     bool
	Make     func(bits int64) event.Value // of a number
}

// Emitted shows the emitted events of one stream in one buffer.
type Emitted struct {
	*Emits
	Stream *event.Stream
	texts  event.Strings
	around *arounds

	chunks []madeEmits
	chunk  int // in use
	used   int // of that
}

// NewEmitted makes what shows a stream of what a fold emits; events are the streams of
// perf.Config.Events.
func NewEmitted(e *Emits, stream *event.Stream, events []*event.Stream) *Emitted {
	return &Emitted{Emits: e, Stream: stream, around: newArounds(e.Around, events)}
}

// madeEmits is memory of emitted events that are shown.
type madeEmits struct {
	deriveds []event.Derived
	slots    []event.Value
	parts    []part // around each of them; nil if none are sent
}

// Show makes e the event of a record; false if that is too short. The time and the CPU
// of e are there already.
//
// Fast path: this runs for every emitted event that programs send.
func (s *Emitted) Show(e *event.Event, rec []byte) bool {
	sent := rec[HeadSize:]
	if len(sent) < s.Size {
		return false
	}
	n := len(s.Values)
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, madeEmits{
			deriveds: make([]event.Derived, pairChunk),
			slots:    make([]event.Value, n*pairChunk),
		})
		if s.around != nil {
			s.chunks[s.chunk].parts = make([]part, 2*pairChunk)
		}
	}
	m := &s.chunks[s.chunk]
	at := s.used
	derived, slots := &m.deriveds[at], m.slots[at*n:(at+1)*n:(at+1)*n]
	if s.used++; s.used == pairChunk {
		s.chunk, s.used = s.chunk+1, 0
	}
	for i := range s.Values {
		v := &s.Values[i]
		if !v.Text {
			slots[i] = v.Make(int64(binary.LittleEndian.Uint64(sent[v.At:])))
			continue
		}
		slots[i] = event.StrOf(s.texts.Of(TextIn(sent[v.At:v.At+v.Size], s.Long)))
	}
	*derived = event.Derived{Slots: slots}
	if s.around != nil && !s.around.show(m.parts[2*at:2*at+2], derived, e, sent) {
		return false
	}
	task := binary.LittleEndian.Uint64(rec[HeadTask:])
	e.Kind, e.Stream, e.Raw, e.Rec, e.Derived = event.Sample, s.Stream, nil, nil, derived
	e.PID, e.TID = int32(task>>32), int32(task)
	return true
}

// Release gives the memory of all events back.
func (s *Emitted) Release() {
	s.chunk, s.used = 0, 0
	if s.around != nil {
		s.around.release()
	}
}
