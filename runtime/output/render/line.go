package render

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// lineOptions has the options of event lines, and caches a lineSchema for each
// schema. It is used by one goroutine.
type lineOptions struct {
	Time     string // wall, rel, mono, delta; "" is wall
	Clock    func(event.Time) time.Time
	Start    event.Time
	Location *time.Location
	Marker   byte   // 'G' for events received from elsewhere; 0 is a blank
	Prefix   string // replaces the date if it is not empty

	stamp      stamper
	scratch    []byte
	schema     *event.Schema // the schema of lineSchema
	lineSchema *lineSchema
	schemas    map[*event.Schema]*lineSchema
}

// lineSchema caches the parts of a schema that a line needs.
type lineSchema struct {
	event   string // full name; empty if the event has no schema
	text    func(dst []byte, e *event.Event) []byte
	flags   *event.Field
	preempt *event.Field
	fields  []*event.Field // the event's own fields, without the common header
	units   []byte         // JSON members with the units of fields
	named   []*event.Field // computed fields whose values may have names
}

// prefixCells is the width of the date column, including the blank after it.
const prefixCells = 27

// appendEventLine appends an event as one line without the line end:
//
//	2026-01-02 10:00:00.123456              db   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=...
//
// It allocates only for a new schema, or if the text contains characters that
// must be escaped.
func appendEventLine(dst []byte, e *event.Event, o *lineOptions) []byte {
	dst = appendEventName(dst, e, o)
	return appendFieldText(dst, e, o.of(e))
}

// appendEventName appends the line up to the fields.
func appendEventName(dst []byte, e *event.Event, o *lineOptions) []byte {
	s := o.of(e)
	dst = o.appendPrefix(dst, e)
	marker := o.Marker
	if marker == 0 {
		marker = ' '
	}
	dst = append(dst, marker, ' ')
	o.scratch = plain.Tail(appendComm(o.scratch[:0], e), 0)
	dst = append(appendPad(dst, 16-cells(o.scratch)), o.scratch...)
	dst = append(dst, ' ')
	dst = appendIntRight(dst, int64(e.TID), 6)
	if s.flags != nil {
		dst = appendFlags(append(dst, ' '), e, s)
	}
	dst = appendCPU(append(dst, " ["...), e.CPU)
	dst = appendSeconds(append(dst, "] "...), int64(e.Time))
	dst = append(dst, ": "...)
	return append(appendTitle(dst, e, s), ": "...)
}

// appendHeading appends the line of a derived event above the events that it
// was made of: date, marker and heading.
func appendHeading(dst []byte, l *result.Line, o *lineOptions) []byte {
	dst = append(o.appendPrefix(dst, l.Event), cmp.Or(o.Marker, ' '))
	return plain.Append(dst, l.Heading)
}

func (o *lineOptions) appendPrefix(dst []byte, e *event.Event) []byte {
	if o.Prefix == "" {
		return o.stamp.appendColumn(dst, e.Time, o)
	}
	o.scratch = plain.Append(o.scratch[:0], o.Prefix)
	return appendPad(append(dst, o.scratch...), prefixCells-cells(o.scratch))
}

// of returns the cached entry of the event's schema. For successive events of
// one schema, which are usual, it does not access the map.
func (o *lineOptions) of(e *event.Event) *lineSchema {
	var schema *event.Schema
	if e.Stream != nil {
		schema = e.Stream.Schema
	}
	if o.lineSchema != nil && o.schema == schema {
		return o.lineSchema
	}
	s, ok := o.schemas[schema]
	if !ok {
		s = learn(schema)
		if o.schemas == nil {
			o.schemas = make(map[*event.Schema]*lineSchema)
		}
		o.schemas[schema] = s
	}
	o.schema, o.lineSchema = schema, s
	return s
}

func learn(schema *event.Schema) *lineSchema {
	s := &lineSchema{}
	if schema == nil {
		return s
	}
	s.event = string(plain.Append(nil, schema.FullName()))
	s.text = schema.Text
	for i := range schema.Fields {
		f := &schema.Fields[i]
		switch {
		case f.Name == "common_flags":
			s.flags = f
		case f.Name == "common_preempt_count":
			s.preempt = f
		}
		// The numbers of stacks are left out; their frames are shown below the
		// line.
		if !strings.HasPrefix(f.Name, "common_") && !(f.Place == event.InSlot && f.Stack()) {
			s.fields = append(s.fields, f)
			s.units = appendFieldUnit(s.units, f)
			if f.Place == event.InSlot && f.Shown != nil {
				s.named = append(s.named, f)
			}
		}
	}
	return s
}

// recordNames are the names of side records.
var recordNames = [...]string{
	event.Lost:       "lost",
	event.Comm:       "comm",
	event.Fork:       "fork",
	event.Exit:       "exit",
	event.Mmap:       "mmap",
	event.Throttle:   "throttle",
	event.Unthrottle: "unthrottle",
	event.Switch:     "switch",
	event.LostAside:  "lost",
	event.Other:      "record",
}

// nameOf returns the name of the event, or of the kind of side record.
func nameOf(e *event.Event, s *lineSchema) string {
	if s.event == "" && int(e.Kind) < len(recordNames) {
		return recordNames[e.Kind]
	}
	return s.event
}

// appendTitle appends the event's name in lines; for samples of a profiler, it is the
// profiler's name.
func appendTitle(dst []byte, e *event.Event, s *lineSchema) []byte {
	if e.Stream != nil && e.Stream.Title != "" && e.Kind == event.Sample {
		return plain.Append(dst, e.Stream.Title)
	}
	return append(dst, nameOf(e, s)...)
}

// appendComm appends the name of the event's thread, without escaping.
func appendComm(dst []byte, e *event.Event) []byte {
	if e.Stream != nil && e.Stream.Comm != nil {
		return append(dst, e.Stream.Comm(e)...)
	}
	return appendUnknown(dst, e.TID)
}

func appendCPU(dst []byte, cpu int32) []byte {
	if cpu < 0 {
		return append(dst, "---"...)
	}
	return appendZeros(dst, uint64(cpu), 3)
}

func appendIntRight(dst []byte, n int64, width int) []byte {
	var tmp [20]byte
	d := strconv.AppendInt(tmp[:0], n, 10)
	return append(appendPad(dst, width-len(d)), d...)
}

// appendFieldText appends the fields as the kernel would print them, with
// control characters escaped.
func appendFieldText(dst []byte, e *event.Event, s *lineSchema) []byte {
	from := len(dst)
	if s.text != nil {
		return plain.Tail(s.text(dst, e), from)
	}
	if e.Kind == event.Lost {
		return append(strconv.AppendUint(dst, uint64(e.Count), 10), " events"...)
	}
	for i, f := range s.fields {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(append(dst, f.Name...), '=')
		dst = appendField(dst, e, f)
	}
	return plain.Tail(dst, from)
}

// appendField appends one field's value as plain text.
func appendField(dst []byte, e *event.Event, f *event.Field) []byte {
	if f.Place == event.InSlot || f.Place == event.InMember {
		v := f.Value(e)
		if name, ok := shownName(f, v); ok {
			return append(dst, name...)
		}
		return append(dst, v.String()...)
	}
	switch f.Kind {
	case event.Str:
		return append(dst, f.Text(e)...)
	case event.Int:
		n, ok := f.Int(e)
		switch {
		case !ok:
			return append(dst, '-')
		case f.Unit == event.AddressU:
			return strconv.AppendUint(append(dst, "0x"...), uint64(n), 16)
		case f.Signed:
			return strconv.AppendInt(dst, n, 10)
		}
		return strconv.AppendUint(dst, uint64(n), 10)
	case event.Array, event.Bitmask:
		if f.Elem > 0 {
			return appendArray(dst, e, f, '{', '}')
		}
	}
	for _, c := range f.Loc(e) {
		dst = append(dst, plain.Hex[c>>4], plain.Hex[c&15])
	}
	return dst
}

// shownName returns the kernel's name for a value that was computed from a
// field of the kernel.
func shownName(f *event.Field, v event.Value) (name string, ok bool) {
	if f.Place != event.InSlot || f.Shown == nil {
		return "", false
	}
	return f.Shown(v)
}

// appendArray appends the elements of an array between open and end.
func appendArray(dst []byte, e *event.Event, f *event.Field, open, end byte) []byte {
	dst = append(dst, open)
	first := true
	for b := f.Loc(e); len(b) >= f.Elem; b = b[f.Elem:] {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		n, _ := event.LoadInt(b[:f.Elem], f.Signed)
		if f.Signed {
			dst = strconv.AppendInt(dst, n, 10)
		} else {
			dst = strconv.AppendUint(dst, uint64(n), 10)
		}
	}
	return append(dst, end)
}

// appendUnknown appends a name for a thread whose name is unknown.
func appendUnknown(dst []byte, tid int32) []byte {
	if tid < 0 {
		return append(dst, '-')
	}
	return strconv.AppendInt(append(dst, "pid-"...), int64(tid), 10)
}
