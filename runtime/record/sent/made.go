package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
)

// This file reads the start, or the end, of a pair that is a pair itself, or that a fold
// emitted, and such an event without a partner. It has no record: its values stand in that of
// the pair, one after the other, as those of what folds emit. Of a pair within a pair a reader
// gets when it began and ended, its key, and what nests have beside it; not its events.

// A Made says where such an event stands in the record of a pair.
type Made struct {
	Stream *event.Stream
	Pair   bool
	Delay  int     // of a pair: where that stands, behind the head
	Values []Value // by slot
	// Long finds a text that is longer than its place, by its hash (longtext.go).
	Long func(hash []byte) []byte
}

// A madePart is the memory of such an event.
type madePart struct {
	derived    event.Derived
	start, end event.Event
	slots      []event.Value
}

// madeParts are those events of the records of one stream.
type madeParts struct {
	of     *Made // nil if operators make none
	chunks [][]madePart
	texts  event.Strings
}

// show makes e, an event at an index of a chunk, the one that was sent.
func (s *madeParts) show(e *event.Event, chunk, at int, sent []byte) {
	m := s.of
	if chunk == len(s.chunks) {
		s.chunks = append(s.chunks, make([]madePart, pairChunk))
		slots := make([]event.Value, pairChunk*len(m.Values))
		for i := range pairChunk {
			s.chunks[chunk][i].slots = slots[i*len(m.Values) : (i+1)*len(m.Values)]
		}
	}
	p := &s.chunks[chunk][at]
	for i := range m.Values {
		v := &m.Values[i]
		if !v.Text {
			p.slots[i] = v.Make(int64(binary.LittleEndian.Uint64(sent[v.At:])))
			continue
		}
		p.slots[i] = event.StrOf(s.texts.Of(TextIn(sent[v.At:v.At+v.Size], m.Long)))
	}
	p.derived = event.Derived{Slots: p.slots}
	e.Raw, e.Derived = nil, &p.derived
	if !m.Pair {
		return
	}
	p.end = event.Event{Kind: e.Kind, Time: e.Time, PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring,
		Stream: e.Stream}
	p.start = p.end
	p.start.Time -= event.Time(binary.LittleEndian.Uint64(sent[m.Delay:]))
	p.derived.Start, p.derived.End = &p.start, &p.end
}

// streamOf is the stream of the start, or of the end; events are the streams of
// perf.Config.Events.
func (p *Pair) streamOf(side int, events []*event.Stream) *event.Stream {
	if m := p.Made[side]; m != nil {
		return m.Stream
	}
	return events[[2]int{p.Start, p.End}[side]]
}
