package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads events of a join that stay without a partner, and what waits in
// programs for one. Behind its head, such a record has
//
//	u64 reason   a join.Reason
//	u64 age      since the event, ns
//	u64 time     of the event: with this begins what waits
//	u64 event    1 and its index in perf.Config.Events
//
// and the fields of the event, with its task and context as in a pair (pair.go).

// The places in such a record, behind the head.
const (
	LeftReason = 0
	LeftAge    = 8
	LeftHead   = 16
)

// Left is a stream of events without a partner that programs send. Their streams have the
// indices behind those of perf.Programs.Emits.
type Left struct {
	Schema *event.Schema
	Label  string
	Event  int // in perf.Config.Events, or behind these if operators make it
	// Made says where it stands in what waits if operators made it; nil if not.
	Made *Made
	// Join is the join, as who made the programs knows it, and Index its number there.
	Join  any
	Index int
	// Size is that of what waits, in bytes; in it are the places of the event's task
	// and context, and of its fields.
	Size, Task, Context int
	// Stack is the place of the hash of its stack; 0 if it has none.
	Stack  int
	Record Projection
}

// Lefts shows the events of one stream in one buffer.
type Lefts struct {
	*Left
	stream, of *event.Stream
	records    *Records
	made       madeParts

	chunks [][]madeLeft
	chunk  int // in use
	used   int // of that
}

// A madeLeft is the memory of an event that is shown.
type madeLeft struct {
	derived event.Derived
	event   event.Event
	slots   [LeftSlots]event.Value
	stack   [StackKey]byte
}

// LeftSlots are the slots of such an event: its age, the reason as a number, and room for
// its key, which is for who knows how to compute it.
const LeftSlots = 3

// NewLefts makes what shows a stream of unpaired events of another stream; events are the
// streams of perf.Config.Events.
func NewLefts(l *Left, stream *event.Stream, events []*event.Stream) *Lefts {
	s := &Lefts{Left: l, stream: stream, records: NewRecords(&l.Record), made: madeParts{of: l.Made}}
	if l.Made != nil {
		s.of = l.Made.Stream
	} else {
		s.of = events[l.Event]
	}
	return s
}

// Show makes e the event of a record; false if that is too short.
func (s *Lefts) Show(e *event.Event, rec []byte) bool {
	if len(rec) < HeadSize+LeftHead+s.Size {
		return false
	}
	u64 := binary.LittleEndian.Uint64
	return s.Waiting(e, rec[HeadSize+LeftHead:], u64(rec[HeadSize+LeftReason:]), u64(rec[HeadSize+LeftAge:]))
}

// Waiting makes e the event of what waits, which is without a partner for a reason; it is
// so many nanoseconds old. The time of e is there already, its CPU is that of the event.
func (s *Lefts) Waiting(e *event.Event, waits []byte, reason, age uint64) bool {
	raw := s.records.Show(waits)
	if raw == nil || len(waits) < s.Size {
		return false
	}
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]madeLeft, pairChunk))
	}
	chunk, at := s.chunk, s.used
	m := &s.chunks[chunk][at]
	if s.used++; s.used == pairChunk {
		s.chunk, s.used = s.chunk+1, 0
	}
	task := binary.LittleEndian.Uint64(waits[s.Task:])
	context := binary.LittleEndian.Uint64(waits[s.Context:])
	began := event.Time(binary.LittleEndian.Uint64(waits))
	m.event = event.Event{Kind: event.Sample, Time: began, PID: int32(task >> 32),
		TID: int32(task), CPU: int32(uint32(context)), Ring: e.Ring, Stream: s.of, Raw: raw}
	if s.Left.Stack != 0 {
		copy(m.stack[:], waits[s.Left.Stack:])
		m.event.Rec = m.stack[:]
	}
	m.event.Rec = s.records.beside(waits, m.event.Rec)
	common(raw, s.of.Schema, task, context)
	if s.made.of != nil {
		s.made.show(&m.event, chunk, at, waits)
	}
	m.slots = [LeftSlots]event.Value{event.DurationOf(int64(age)), event.IntOf(int64(reason))}
	m.derived = event.Derived{Start: &m.event, Slots: m.slots[:]}
	e.Kind, e.Stream, e.Raw, e.Rec, e.Derived = event.Sample, s.stream, nil, nil, &m.derived
	e.PID, e.TID, e.CPU = m.event.PID, m.event.TID, m.event.CPU
	return true
}

// Release gives the memory of all events back.
func (s *Lefts) Release() {
	s.chunk, s.used = 0, 0
	s.records.Release()
}
