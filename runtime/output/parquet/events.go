package parquet

import (
	"encoding/hex"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// This file writes the events of logs, with their fields as columns. Fields with the same
// name in different kinds of events share a column, if their values have the same class.

// logSlots are the columns that all events have.
type logSlots struct {
	time, wall, comm, pid, tid, cpu, event *slot
	stack, label, marker                   *slot // nil until an event has one
	scratch                                []byte
}

// newLog adds the columns of all events. Fields with the same names get other
// columns.
func newLog(o *out) *logSlots {
	at := func(name string) *slot { return o.slot(name, 0) }
	l := &logSlots{time: at("time"), wall: at("wall"), comm: at("comm"), pid: at("pid"), tid: at("tid"),
		cpu: at("cpu"), event: at("event")}
	l.time.first.unit = unit.NS.Symbol
	l.wall.of(o.file, moment) // is a moment even if no wall-clock time is known
	return l
}

// A shape caches the names and fields of the events of a stream.
type shape struct {
	name   []byte
	label  []byte
	fields []field
}

// A field is a field of an event with its columns.
type field struct {
	*event.Field
	at, text *slot            // text is nil until a number has a name
	names    map[int64][]byte // cache of names of numbers; nil if a number has none
}

// maxNames bounds the names that are cached for the numbers of a field.
const maxNames = 4096

// shape makes the shape of a stream, and adds its columns.
func (o *out) shape(st *event.Stream) *shape {
	x := &shape{name: []byte(st.Schema.FullName())}
	if st.Title != "" {
		x.name = []byte(st.Title)
	}
	if st.Label != "" && st.Label != string(x.name) {
		x.label = []byte(st.Label)
	}
	for i := range st.Schema.Fields {
		f := &st.Schema.Fields[i]
		if strings.HasPrefix(f.Name, "common_") || f.Place == event.InSlot && f.Stack() {
			continue
		}
		one := field{Field: f, at: o.slot(f.Name, 1)}
		if first := one.at.first; first.unit == "" {
			first.unit = unitOf(f)
		}
		x.fields = append(x.fields, one)
	}
	return x
}

func unitOf(f *event.Field) string {
	switch f.Unit {
	case event.Nanos, event.Moment:
		return unit.NS.Symbol
	case event.SizeB:
		return unit.Bytes.Symbol
	case event.Percent:
		return unit.Percent.Symbol
	}
	return ""
}

func (s *sink) line(l *result.Line) error {
	e := l.Event
	if e.Stream == nil || e.Stream.Schema == nil {
		return nil // a side record without fields
	}
	o, err := s.of(l.LogName(), "")
	if err != nil {
		return err
	}
	s.event(o, l)
	return o.next()
}

// event writes the columns of an event, without ending the row.
func (s *sink) event(o *out, l *result.Line) {
	e := l.Event
	if o.log == nil {
		o.log, o.events = newLog(o), map[*event.Stream]*shape{}
	}
	x := o.events[e.Stream]
	if x == nil {
		x = o.shape(e.Stream)
		o.events[e.Stream] = x
	}
	f, log := o.file, o.log
	log.time.signed(f, int64(e.Time))
	if ns, known := s.wall(e.Time); known {
		log.wall.moment(f, ns)
	}
	if e.Stream.Comm != nil {
		log.scratch = append(log.scratch[:0], e.Stream.Comm(e)...)
		log.comm.text(f, plain.ExactBytes(log.scratch))
	}
	log.pid.signed(f, int64(e.PID))
	log.tid.signed(f, int64(e.TID))
	log.cpu.signed(f, int64(e.CPU))
	log.event.text(f, x.name)
	for i := range x.fields {
		x.fields[i].put(o, e)
	}
	o.rare(l, x)
}

// rare writes the columns that only some events have: label, marker, stacks.
func (o *out) rare(l *result.Line, x *shape) {
	log, f := o.log, o.file
	if len(x.label) > 0 {
		if log.label == nil {
			log.label = o.slot("label", 0)
		}
		log.label.text(f, x.label)
	}
	if l.Marker != 0 && l.Marker != ' ' {
		if log.marker == nil {
			log.marker = o.slot("marker", 0)
		}
		log.marker.text(f, []byte{l.Marker})
	}
	if !l.Stacks {
		return
	}
	if log.stack == nil {
		log.stack = o.slot("stack", 0)
	}
	if len(l.Frames) > 0 {
		log.stack.text(f, []byte(render.StackText(l.Frames)))
	}
	for _, more := range l.More {
		o.slot(more.Name+"_stack", 0).text(f, []byte(render.StackText(more.Frames)))
	}
}

// put writes the field of an event. It writes nothing if the record is too
// short for the field.
func (x *field) put(o *out, e *event.Event) {
	f := o.file
	if x.Place == event.InSlot || x.Place == event.InMember && x.Kind != event.Int {
		v := x.Value(e)
		if v.Kind == event.StrValue {
			v = event.StrOf(plain.Exact(v.String()))
		}
		x.at.value(f, v)
		if x.Shown != nil && v.Numeric() {
			x.named(o, v.Int(), v)
		}
		return
	}
	switch x.Kind {
	case event.Str:
		x.at.text(f, plain.ExactBytes(x.Text(e)))
		return
	case event.Int:
		n, ok := x.Int(e)
		switch {
		case !ok:
			return
		case x.Signed:
			x.at.signed(f, n)
		default:
			x.at.unsigned(f, uint64(n))
		}
		if x.Shown != nil {
			x.named(o, n, x.Number(n))
		}
		return
	}
	o.log.scratch = x.appendBytes(o.log.scratch[:0], e)
	x.at.text(f, o.log.scratch)
}

// appendBytes appends an array as JSON, bytes in hex.
func (x *field) appendBytes(dst []byte, e *event.Event) []byte {
	b := x.Loc(e)
	if x.Elem <= 0 || x.Kind != event.Array && x.Kind != event.Bitmask {
		return hex.AppendEncode(dst, b)
	}
	dst = append(dst, '[')
	for i := 0; len(b) >= x.Elem; i, b = i+1, b[x.Elem:] {
		if i > 0 {
			dst = append(dst, ',')
		}
		n, _ := event.LoadInt(b[:x.Elem], x.Signed)
		if x.Signed {
			dst = strconv.AppendInt(dst, n, 10)
		} else {
			dst = strconv.AppendUint(dst, uint64(n), 10)
		}
	}
	return append(dst, ']')
}

// named writes the name that the kernel prints for a number, if it has one.
func (x *field) named(o *out, n int64, v event.Value) {
	name, known := x.names[n]
	if !known {
		if text, ok := x.Shown(v); ok {
			name = []byte(text)
		}
		if x.names == nil || len(x.names) >= maxNames {
			x.names = map[int64][]byte{}
		}
		x.names[n] = name
	}
	if len(name) == 0 {
		return
	}
	if x.text == nil {
		x.text = o.slot(x.Name+"_text", 1)
	}
	x.text.text(o.file, name)
}
