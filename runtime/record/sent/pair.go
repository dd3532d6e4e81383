package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads pairs: records that programs send of two events at once, of which
// they related the one to the other in the kernel. Behind the head, which is that of
// the pair's end, such a record has words of its own and the fields of both:
//
//	u64 delay    from the start to the end, ns
//	u64 task     of the start: process in the upper half, thread in the lower
//	u64 context  of the start
//	u64 context  of the end
//	u64 time     of the end: that in the head is of sending
//
// Nested pairs have three words more: their number in the tree of calls, their depth, and
// their time without the calls inside. Where the events have stacks, the hashes of these are
// next. Texts of the process that were read at the start stand behind all (texts.go).
//
// A context is the CPU in the lower half; above it are what the kernel would have
// put into the record's common_flags and common_preempt_count.
//
// A reader gets a pair with its two events, as the native join makes it. All of it
// is memory of the reader, which lives as long as the buffer's records.

// The places in a sent pair, behind the head.
const (
	PairDelay        = 0
	PairTask         = 8
	PairStartContext = 16
	PairEndContext   = 24
	PairEnd          = 32
	PairSize         = 40
	CallSize         = 24 // what a nested pair has behind that
)

// The places in a context.
const (
	ContextFlags   = 32
	ContextPreempt = 40
)

// A Pair is a stream of pairs that programs send. Their streams have the indices
// behind those of perf.Config.Events.
type Pair struct {
	Schema     *event.Schema
	Label      string
	Start, End int // of the two events in perf.Config.Events
	// Starts and Ends say how the sent fields become the records of the two.
	Starts, Ends *Projection
	Nested       bool
	// Stacks is where the hashes of the stacks of both stand, behind the head; 0 if they
	// have none.
	Stacks [2]int
	// Texts is the end of the fixed part, whose last word says where the texts of the start
	// are; 0 if there are none.
	Texts int
	// Made says where the start, or the end, stands if operators made it; nil if not.
	Made [2]*Made
}

// Pairs shows the pairs of one stream in one buffer.
type Pairs struct {
	stream, start, end *event.Stream
	starts, ends       *Records
	nested             bool
	stacks             [2]int
	fixedPart          int // of records with texts
	texts              arena
	made               [2]madeParts

	chunks [][]madePair
	chunk  int // in use
	used   int // of that
}

// A madePair is the memory of a pair that is shown.
type madePair struct {
	derived    event.Derived
	start, end event.Event
	// slots begin with room for the key, for who knows how to compute it.
	slots [4]event.Value
}

// pairChunk is for how many pairs memory is taken at once.
const pairChunk = 128

// NewPairs makes what shows the pairs of a stream; events are the streams of
// perf.Config.Events.
func NewPairs(p *Pair, stream *event.Stream, events []*event.Stream) *Pairs {
	return &Pairs{stream: stream, start: p.streamOf(0, events), end: p.streamOf(1, events),
		made:   [2]madeParts{{of: p.Made[0]}, {of: p.Made[1]}},
		starts: NewRecords(p.Starts), ends: NewRecords(p.Ends), nested: p.Nested, stacks: p.Stacks,
		fixedPart: p.Texts}
}

// Show makes e the pair of a record; false if that is too short. The time and the
// CPU of e are there already.
//
// Fast path: this runs for every pair that programs send.
func (s *Pairs) Show(e *event.Event, rec []byte) bool {
	sent := rec[HeadSize:]
	if len(sent) < PairSize || s.nested && len(sent) < PairSize+CallSize {
		return false
	}
	starts, ends := s.starts.Show(sent), s.ends.Show(sent)
	if starts == nil || ends == nil {
		return false
	}
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]madePair, pairChunk))
	}
	at := s.used
	m := &s.chunks[s.chunk][at]

	u64 := binary.LittleEndian.Uint64
	task, endTask := u64(sent[PairTask:]), u64(rec[HeadTask:])
	context, end := u64(sent[PairStartContext:]), event.Time(u64(sent[PairEnd:]))
	m.start = event.Event{Kind: event.Sample, Time: end - event.Time(u64(sent[PairDelay:])),
		PID: int32(task >> 32), TID: int32(task), CPU: int32(uint32(context)), Ring: e.Ring, Stream: s.start,
		Raw: starts}
	common(starts, s.start.Schema, task, context)
	m.end = event.Event{Kind: event.Sample, Time: end,
		PID: int32(endTask >> 32), TID: int32(endTask), CPU: e.CPU, Ring: e.Ring, Stream: s.end, Raw: ends}
	common(ends, s.end.Schema, endTask, u64(sent[PairEndContext:]))
	m.start.Rec = s.starts.beside(sent, stackOf(sent, s.stacks[0]))
	if s.fixedPart > 0 {
		m.start.Rec = withTexts(&s.texts, m.start.Rec, sent, s.fixedPart)
	}
	m.end.Rec = s.ends.beside(sent, stackOf(sent, s.stacks[1]))
	m.derived = event.Derived{Start: &m.start, End: &m.end, Slots: m.slots[:1]}
	if s.nested {
		m.slots[1] = event.IntOf(int64(u64(sent[PairSize:])))
		m.slots[2] = event.IntOf(int64(u64(sent[PairSize+8:])))
		m.slots[3] = event.DurationOf(int64(u64(sent[PairSize+16:])))
		m.derived.Slots = m.slots[:]
	}

	if s.made[0].of != nil {
		s.made[0].show(&m.start, s.chunk, at, sent)
	}
	if s.made[1].of != nil {
		s.made[1].show(&m.end, s.chunk, at, sent)
	}
	if s.used++; s.used == pairChunk {
		s.chunk, s.used = s.chunk+1, 0
	}

	e.Kind, e.Stream, e.Raw, e.Rec, e.Derived = event.Sample, s.stream, nil, nil, &m.derived
	e.PID, e.TID = m.end.PID, m.end.TID
	return true
}

// common writes the fields that the records of all tracepoints begin with.
func common(raw []byte, schema *event.Schema, task, context uint64) {
	if len(raw) < 8 {
		return
	}
	binary.LittleEndian.PutUint16(raw, uint16(schema.ID))
	raw[2], raw[3] = byte(context>>ContextFlags), byte(context>>ContextPreempt)
	binary.LittleEndian.PutUint32(raw[4:], uint32(task))
}

// Release gives the memory of all pairs back.
func (s *Pairs) Release() {
	s.chunk, s.used = 0, 0
	s.starts.Release()
	s.ends.Release()
	s.texts.release()
}
