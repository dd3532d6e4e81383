package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// event writes a record of type event: thread, CPU, time, the fields by name,
// and the text that the kernel would print.
func (r *jsonRenderer) event(l *result.Line) error {
	e := l.Event
	s := r.line.of(e)
	r.begin("event")
	r.buf = appendJSONString(append(r.buf, `"name":`...), l.LogName())
	r.buf = strconv.AppendInt(append(r.buf, `,"time":`...), int64(e.Time), 10)
	if r.line.Clock != nil {
		r.buf = appendWallJSON(r.buf, r.line.Clock(e.Time))
	}
	if l.Marker != 0 && l.Marker != ' ' {
		r.buf = appendJSONString(append(r.buf, `,"marker":`...), string(rune(l.Marker)))
	}
	r.threadAndCPU(e)
	if s.flags != nil {
		r.scratch = appendFlags(r.scratch[:0], e, s)
		r.buf = appendJSONString(append(r.buf, `,"flags":`...), r.scratch)
	}
	r.buf = appendJSONString(append(r.buf, `,"event":`...), nameOf(e, s))
	if e.Stream != nil && e.Stream.Label != "" && e.Stream.Label != s.event {
		r.buf = appendJSONString(append(r.buf, `,"label":`...), e.Stream.Label)
	}
	r.fields(e, s)
	if l.Stacks {
		r.frames(l.CallStack)
		for i := range l.More {
			r.namedFrames(l.More[i].Name, l.More[i].CallStack)
		}
	}
	return r.end()
}

// threadAndCPU writes the thread of an event and the CPU that it ran on.
func (r *jsonRenderer) threadAndCPU(e *event.Event) {
	r.scratch = appendComm(r.scratch[:0], e)
	r.buf = appendJSONString(append(r.buf, `,"comm":`...), plain.ExactBytes(r.scratch))
	r.buf = strconv.AppendInt(append(r.buf, `,"pid":`...), int64(e.PID), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"tid":`...), int64(e.TID), 10)
	r.buf = strconv.AppendInt(append(r.buf, `,"cpu":`...), int64(e.CPU), 10)
}

// fields writes the fields of an event, then all of them as one text.
func (r *jsonRenderer) fields(e *event.Event, s *lineSchema) {
	r.buf = append(r.buf, `,"fields":{`...)
	for i, f := range s.fields {
		if i > 0 {
			r.buf = append(r.buf, ',')
		}
		r.buf = append(appendJSONString(r.buf, f.Name), ':')
		r.field(e, f)
	}
	r.buf = append(r.buf, '}')
	if len(s.units) > 0 {
		r.buf = append(append(append(r.buf, `,"units":{`...), s.units...), '}')
	}
	r.names(e, s)
	r.scratch = appendFieldText(r.scratch[:0], e, s)
	r.buf = appendJSONString(append(r.buf, `,"text":`...), r.scratch)
}

// names writes the names of values that were computed from fields of the
// kernel. The names of the kernel's fields are in the text.
func (r *jsonRenderer) names(e *event.Event, s *lineSchema) {
	some := false
	for _, f := range s.named {
		name, ok := shownName(f, f.Value(e))
		if !ok {
			continue
		}
		if some {
			r.buf = append(r.buf, ',')
		} else {
			r.buf, some = append(r.buf, `,"names":{`...), true
		}
		r.buf = appendJSONString(append(appendJSONString(r.buf, f.Name), ':'), name)
	}
	if some {
		r.buf = append(r.buf, '}')
	}
}

// appendFieldUnit appends the unit of a field's numbers as a member, if it has
// one.
func appendFieldUnit(dst []byte, f *event.Field) []byte {
	symbol := ""
	switch f.Unit {
	case event.Nanos, event.Moment:
		symbol = unit.NS.Symbol
	case event.SizeB:
		symbol = unit.Bytes.Symbol
	case event.Percent:
		symbol = unit.Percent.Symbol
	default:
		return dst
	}
	if len(dst) > 0 {
		dst = append(dst, ',')
	}
	return appendJSONString(append(appendJSONString(dst, f.Name), ':'), symbol)
}

// field writes the value of one field; null if the record is too short for
// it.
func (r *jsonRenderer) field(e *event.Event, f *event.Field) {
	if f.Place == event.InSlot || f.Place == event.InMember {
		if v := f.Value(e); v.Kind == event.StrValue {
			r.buf = appendJSONString(r.buf, plain.Exact(v.String()))
		} else {
			r.buf = appendJSONValue(r.buf, v)
		}
		return
	}
	switch f.Kind {
	case event.Str:
		r.buf = appendJSONString(r.buf, plain.ExactBytes(f.Text(e)))
		return
	case event.Int:
		n, ok := f.Int(e)
		switch {
		case !ok:
			r.buf = append(r.buf, "null"...)
		case f.Signed:
			r.buf = strconv.AppendInt(r.buf, n, 10)
		default:
			r.buf = strconv.AppendUint(r.buf, uint64(n), 10)
		}
		return
	case event.Array, event.Bitmask:
		if f.Elem > 0 {
			r.buf = appendArray(r.buf, e, f, '[', ']')
			return
		}
	}
	r.buf = append(r.buf, '"')
	for _, c := range f.Loc(e) {
		r.buf = append(r.buf, plain.Hex[c>>4], plain.Hex[c&15])
	}
	r.buf = append(r.buf, '"')
}
