package sent

import (
	"encoding/binary"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file converts records to events, in the form in which the native operators make them:
// an event that is sent itself has its record; a derived event has its values and the events
// from which it is made. All of that is in the reader's memory, and is valid as long as the
// buffer's records.

// Rows converts the records of one stream in one buffer to events.
type Rows struct {
	stream *event.Stream
	own    *Records // for an event that is sent itself; else nil
	need   int      // least bytes of a record after its head

	values     []value
	slots      int
	start, end *part
	fixedPart  int // of records with texts
	copies     arena
	texts      event.Strings
	long       func(hash []byte) []byte

	chunks []rows
	chunk  int // in use
	used   int // of that
}

// rowChunk is the number of events for which memory is allocated at once.
const rowChunk = 128

// rows is the memory of rowChunk events.
type rows struct {
	deriveds   []event.Derived
	slots      []event.Value
	start, end parts
}

// NewOwn returns the Rows of events that are sent themselves.
func NewOwn(p *Projection, stream *event.Stream) *Rows {
	return &Rows{stream: stream, own: NewRecords(p)}
}

// NewRows returns the Rows of a stream of derived events; events are the streams of
// perf.Config.Events.
func NewRows(r *Record, stream *event.Stream, events []*event.Stream) *Rows {
	s := &Rows{stream: stream, slots: r.Slots, fixedPart: r.Texts, long: r.Long, need: r.Texts,
		start: newPart(r.Start, expr.Start, r.Columns, events),
		end:   newPart(r.End, expr.End, r.Columns, events)}
	for i := range r.Columns {
		c := &r.Columns[i]
		s.need = max(s.need, c.Off+c.Size)
		if c.Part == expr.Self {
			s.values = append(s.values, valueOf(c))
		}
	}
	if s.start != nil && s.start.time == notSentAt && s.end != nil {
		s.start.time = s.end.time // the start's own time is this less the delay
	}
	return s
}

// A value describes how a column is converted to a value of an event.
type value struct {
	slot, at, size int
	text           bool
	of             func(bits int64) event.Value // of a number
}

func valueOf(c *Column) value {
	v := value{slot: c.Slot, at: c.Off, size: c.Size, text: c.Form == Text, of: event.IntOf}
	switch c.Origin {
	case Field:
		v.slot, v.of = c.Of.F.Offset, c.Of.F.Maker()
	case SelfTime, Age:
		v.of = event.DurationOf
	}
	return v
}

// Show sets e to the event of a record; false if the record is too short. The caller has
// set the time and the CPU of e.
//
// Fast path: this runs for every record that programs send.
func (s *Rows) Show(e *event.Event, rec []byte) bool {
	sent := rec[HeadSize:]
	if len(sent) < s.need {
		return false
	}
	task := binary.LittleEndian.Uint64(rec[HeadTask:])
	e.Kind, e.Stream, e.PID, e.TID = event.Sample, s.stream, int32(task>>32), int32(task)
	if s.own != nil {
		raw := s.own.Show(sent)
		e.Raw, e.Rec, e.Derived = raw, rec, nil
		return raw != nil
	}
	m, at := s.take()
	d, slots := &m.deriveds[at], m.slots[at*s.slots:(at+1)*s.slots:(at+1)*s.slots]
	s.show(slots, s.values, sent)
	d.Slots, d.Start, d.End = slots, nil, nil
	e.Raw, e.Rec, e.Derived = nil, nil, d
	if s.start == nil {
		return true
	}
	switch known, ok := s.start.show(s, e, &m.start, at, sent, task); {
	case !ok:
		return false
	case !known:
		return true // the fold emitted it without such an event
	}
	d.Start = &m.start.events[at]
	if s.fixedPart > 0 {
		d.Start.Rec = withTexts(&s.copies, d.Start.Rec, sent, s.fixedPart)
	}
	if s.end == nil {
		e.PID, e.TID, e.CPU = d.Start.PID, d.Start.TID, d.Start.CPU
		return true
	}
	d.End = &m.end.events[at]
	_, ok := s.end.show(s, e, &m.end, at, sent, task)
	return ok
}

// show stores the values of columns in slots.
func (s *Rows) show(slots []event.Value, values []value, sent []byte) {
	for i := range values {
		v := &values[i]
		if v.text {
			slots[v.slot] = event.StrOf(s.texts.Of(TextIn(sent[v.at:v.at+v.size], s.long)))
		} else {
			slots[v.slot] = v.of(int64(binary.LittleEndian.Uint64(sent[v.at:])))
		}
	}
}

// take returns memory for one more event.
func (s *Rows) take() (m *rows, at int) {
	if s.chunk == len(s.chunks) {
		s.chunks = append(s.chunks, rows{deriveds: make([]event.Derived, rowChunk),
			slots: make([]event.Value, s.slots*rowChunk), start: s.start.memory(), end: s.end.memory()})
	}
	m, at = &s.chunks[s.chunk], s.used
	if s.used++; s.used == rowChunk {
		s.chunk, s.used = s.chunk+1, 0
	}
	return m, at
}

// Release frees the memory of all events.
func (s *Rows) Release() {
	s.chunk, s.used = 0, 0
	s.copies.release()
	if s.own != nil {
		s.own.Release()
	}
	s.start.release()
	s.end.release()
}

// A part makes one of the events from which a derived event is made.
type part struct {
	stream *event.Stream // of a part that is itself a derived event; else nil
	// Offsets of the part's time, thread and so on; notSentAt if not sent.
	time, delay, task, context, number, source int
	sourceSize                                 int
	inputs                                     []input // the possible events; one if source is not sent

	values []value // of a derived event
	slots  int
	pair   bool // the part is a pair; took is the offset of its delay
	took   int
}

const notSentAt = -1

// An input is one event that a part may be.
type input struct {
	stream  *event.Stream
	records *Records // nil if the part cannot be this event
	stack   int      // offset of the hash of its stack
}

func newInput(stream *event.Stream, columns []Column) input {
	in := input{stream: stream, stack: notSentAt}
	if stream != nil && columns != nil {
		in.records = NewRecords(Project(stream.Schema, columns))
	}
	for i := range columns {
		if columns[i].Origin == Stack {
			in.stack = columns[i].Off
		}
	}
	return in
}

// newPart returns the part for the columns of a record that belong to it.
func newPart(p *Part, of expr.Part, columns []Column, events []*event.Stream) *part {
	if p == nil {
		return nil
	}
	s := &part{stream: p.Stream, time: notSentAt, delay: notSentAt, task: notSentAt, context: notSentAt,
		number: notSentAt, source: notSentAt}
	var own []Column
	for i := range columns {
		c := &columns[i]
		if c.Part != of {
			continue
		}
		own = append(own, *c)
		switch c.Origin {
		case Time:
			s.time = c.Off
		case Delay:
			s.delay = c.Off
		case Task:
			s.task = c.Off
		case Context:
			s.context = c.Off
		case StackNumber:
			s.number, s.slots = c.Off, 1
		case Source:
			s.source, s.sourceSize = c.Off, c.Size
		case Field:
			switch {
			case p.Stream == nil: // see Project
			case c.Of.F.Place == event.InMember: // the delay
				s.pair, s.took = true, c.Off
			default:
				v := valueOf(c)
				s.values, s.slots = append(s.values, v), max(s.slots, v.slot+1)
			}
		}
	}
	switch {
	case s.source != notSentAt:
		for i, columns := range p.Inputs {
			s.inputs = append(s.inputs, newInput(events[i], columns))
		}
	case p.Stream == nil:
		s.inputs = []input{newInput(events[p.Input], own)}
	}
	return s
}

// parts is the memory of parts, one for each event of rows.
type parts struct {
	events   []event.Event
	deriveds []event.Derived // for derived events, and events with the number of a stack
	slots    []event.Value
	within   []event.Event // the start and the end of each part that is a pair
}

func (p *part) memory() (m parts) {
	if p == nil {
		return m
	}
	m.events = make([]event.Event, rowChunk)
	if p.stream != nil || p.number != notSentAt {
		m.deriveds, m.slots = make([]event.Derived, rowChunk), make([]event.Value, p.slots*rowChunk)
	}
	if p.pair {
		m.within = make([]event.Event, 2*rowChunk)
	}
	return m
}

// show makes the part's event in its memory. known is false if the record has no event for this
// part; ok is false if the record is too short. e is the derived event, task the word of the
// record's head.
func (p *part) show(s *Rows, e *event.Event, m *parts, at int, sent []byte, task uint64) (known, ok bool) {
	u64 := binary.LittleEndian.Uint64
	var in *input
	if p.stream == nil {
		k := 0
		if p.source != notSentAt {
			if k = p.input(sent); k < 0 {
				return false, true
			}
		}
		if k >= len(p.inputs) || p.inputs[k].records == nil {
			return false, false
		}
		in = &p.inputs[k]
	}
	time, cpu, context := e.Time, e.CPU, uint64(0)
	if p.time != notSentAt {
		time = event.Time(u64(sent[p.time:]))
	}
	if p.delay != notSentAt {
		time -= event.Time(u64(sent[p.delay:]))
	}
	if p.task != notSentAt {
		task = u64(sent[p.task:])
	}
	if p.context != notSentAt {
		context = u64(sent[p.context:])
		cpu = int32(uint32(context))
	}
	stream, raw, rec := p.stream, []byte(nil), []byte(nil)
	if in != nil {
		if raw = in.records.Show(sent); raw == nil {
			return false, false
		}
		stream = in.stream
		common(raw, stream.Schema, task, context)
		if in.stack != notSentAt {
			rec = sent[in.stack : in.stack+StackKey : in.stack+StackKey]
		}
		if in.records.BesideSize > 0 {
			rec = in.records.beside(sent, rec)
		}
	}
	to := &m.events[at]
	*to = event.Event{Kind: event.Sample, Time: time, PID: int32(task >> 32), TID: int32(task), CPU: cpu,
		Ring: e.Ring, Stream: stream, Raw: raw, Rec: rec}
	if m.deriveds == nil {
		return true, true
	}
	d, slots := &m.deriveds[at], m.slots[at*p.slots:(at+1)*p.slots:(at+1)*p.slots]
	if p.number != notSentAt {
		number := u64(sent[p.number:])
		if number == 0 {
			return true, true
		}
		slots[0] = event.UintOf(number)
	}
	s.show(slots, p.values, sent)
	*d = event.Derived{Slots: slots}
	to.Derived = d
	if p.pair {
		within := m.within[2*at : 2*at+2]
		of := *to
		of.Derived = nil
		within[0], within[1] = of, of
		within[0].Time -= event.Time(u64(sent[p.took:]))
		d.Start, d.End = &within[0], &within[1]
	}
	return true, true
}

// input returns the index of the part's event; negative if there is none.
func (p *part) input(sent []byte) int {
	if p.sourceSize == 2 {
		return int(binary.LittleEndian.Uint16(sent[p.source:])) - 1
	}
	return int(binary.LittleEndian.Uint64(sent[p.source:])) - 1
}

func (p *part) release() {
	if p == nil {
		return
	}
	for i := range p.inputs {
		if r := p.inputs[i].records; r != nil {
			r.Release()
		}
	}
}

// common writes the common fields, with which the records of all tracepoints
// begin.
func common(raw []byte, schema *event.Schema, task, context uint64) {
	if len(raw) < 8 {
		return
	}
	binary.LittleEndian.PutUint16(raw, uint16(schema.ID))
	raw[2], raw[3] = byte(context>>ContextFlags), byte(context>>ContextPreempt)
	binary.LittleEndian.PutUint32(raw[4:], uint32(task))
}
