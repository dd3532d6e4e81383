package render

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file writes events as lines of perf script's form, for people who read it and for programs that parse
// it, such as stackcollapse-perf.pl: the fields that the user chose, in perf's order and widths. A call
// stack stands below its line, with an empty line behind it; the function of an event without one is a
// part of the line.

// unknownSymbol is a function or file without a name, as perf shows it.
const unknownSymbol = "[unknown]"

// fieldLine writes the line of an event, with its stack.
func (r *textRenderer) fieldLine(l *result.Line) error {
	e, o := l.Event, &r.line
	s := o.of(e)
	f := l.Layout.Of(e, l.Chained)
	has := func(field result.LineFields) bool { return f&field != 0 }
	dst := r.buf
	if has(result.LineComm) {
		o.scratch = plain.Tail(appendComm(o.scratch[:0], e), 0)
		if !l.Chained || !has(result.LineIP) {
			dst = appendPad(dst, 16-cells(o.scratch))
		}
		dst = append(append(dst, o.scratch...), ' ')
	}
	switch {
	case has(result.LinePID) && has(result.LineTID):
		dst = append(appendIntRight(dst, int64(e.PID), 5), '/')
		from := len(dst)
		dst = strconv.AppendInt(dst, int64(e.TID), 10)
		dst = append(appendPad(dst, 5-(len(dst)-from)), ' ')
	case has(result.LinePID):
		dst = append(appendIntRight(dst, int64(e.PID), 5), ' ')
	case has(result.LineTID):
		dst = append(appendIntRight(dst, int64(e.TID), 5), ' ')
	}
	if has(result.LineCPU) {
		dst = append(appendCPU(append(dst, '['), e.CPU), "] "...)
	}
	if has(result.LineTime) {
		dst = append(appendFieldTime(dst, int64(e.Time), l.Layout.Nanos), ": "...)
	}
	if has(result.LinePeriod) {
		dst = append(appendMember(dst, e, event.MemberPeriod, 10, 10), ' ')
	}
	if has(result.LineEvent) {
		o.scratch = appendEventLabel(o.scratch[:0], e, s)
		dst = append(appendPad(dst, l.Layout.EventWidth-cells(o.scratch)), o.scratch...)
		dst = append(dst, ": "...)
	}
	if has(result.LineTrace) {
		dst = appendFieldText(dst, e, s)
	}
	if has(result.LineAddr) {
		dst = appendMember(dst, e, event.MemberAddr, 16, 16)
	}
	if has(result.LineWeight) {
		dst = appendMember(dst, e, event.MemberWeight, 10, 16)
	}
	if has(placedFields) {
		dst = r.fieldPlace(dst, l, f)
	}
	if has(result.LinePhysAddr) {
		dst = appendMember(dst, e, event.MemberPhysAddr, 16, 16)
	}
	r.buf = append(dst, '\n')
	return r.spill()
}

// placedFields are the fields of the place where a sample was taken.
const placedFields = result.LineIP | result.LineSymbol | result.LineDSO

// fieldPlace appends the stack of an event below its line, or the function that ran behind it.
func (r *textRenderer) fieldPlace(dst []byte, l *result.Line, f result.LineFields) []byte {
	if !l.Chained {
		frame := &result.Frame{}
		for _, x := range l.Frames {
			if frame = x; !x.Inline {
				break
			}
		}
		if frame.Addr == 0 {
			frame = &result.Frame{}
			frame.Addr, _ = member(l.Event, event.MemberIP)
		}
		return appendFieldFrame(append(dst, ' '), frame, f)
	}
	dst = append(dst, '\n')
	for _, x := range l.Frames {
		dst = append(appendFieldFrame(append(dst, '\t'), x, f), '\n')
	}
	return dst
}

func appendFieldFrame(dst []byte, x *result.Frame, f result.LineFields) []byte {
	if f&result.LineIP != 0 {
		dst = appendUintRight(dst, x.Addr, 16, 16)
	}
	if f&result.LineSymbol != 0 {
		dst = append(dst, ' ')
		switch {
		case x.Symbol == "":
			dst = append(dst, unknownSymbol...)
		case f&result.LineOffset != 0 && !x.Inline:
			dst = append(plain.Append(dst, x.Symbol), "+0x"...)
			dst = strconv.AppendUint(dst, x.Offset, 16)
		default:
			dst = plain.Append(dst, x.Symbol)
		}
	}
	switch {
	case x.Inline:
		dst = append(dst, " (inlined)"...)
	case f&result.LineDSO != 0:
		name := x.DSO
		if name == "" {
			name = unknownSymbol
		}
		dst = append(plain.Append(append(dst, " ("...), name), ')')
	}
	return dst
}

// member is a number of the sample; false if it has none.
func member(e *event.Event, m event.Member) (uint64, bool) {
	if e.Stream == nil || e.Stream.Members == nil {
		return 0, false
	}
	return e.Stream.Members.Member(e, m)
}

// appendMember appends a number of the sample, or - if it has none.
func appendMember(dst []byte, e *event.Event, m event.Member, base, width int) []byte {
	n, ok := member(e, m)
	if !ok {
		return append(appendPad(dst, width-1), '-')
	}
	return appendUintRight(dst, n, base, width)
}

// appendEventLabel appends the name of an event as the user or the recording has it.
func appendEventLabel(dst []byte, e *event.Event, s *lineSchema) []byte {
	if e.Stream != nil && e.Kind == event.Sample {
		return plain.Append(dst, result.EventName(e.Stream))
	}
	return append(dst, nameOf(e, s)...)
}

func appendFieldTime(dst []byte, ns int64, nanos bool) []byte {
	if nanos {
		dst = append(appendIntRight(dst, ns/1e9, 5), '.')
		return appendZeros(dst, uint64(ns%1e9), 9)
	}
	dst = append(appendIntRight(dst, ns/1e9, 5), '.')
	return appendZeros(dst, uint64(ns%1e9)/1e3, 6)
}

func appendUintRight(dst []byte, n uint64, base, width int) []byte {
	var tmp [20]byte
	d := strconv.AppendUint(tmp[:0], n, base)
	return append(appendPad(dst, width-len(d)), d...)
}
