package render

import (
	"strconv"

	"ppscript/runtime/event"
)

// appendLoss appends "lost 12 events, 3 unmatched (ends without a start)", or "3 events unmatched (1 end
// without a start, 2 starts without an end)".
func appendLoss(dst []byte, l *event.Loss) []byte {
	first := true
	for i, c := range l.Counts() {
		switch {
		case c.N == 0:
			continue
		case i == 0:
			dst = append(strconv.AppendUint(append(dst, "lost "...), c.N, 10), plural(c.N, " event")...)
		case c.Name == "ended_early":
			dst = appendEarly(dst, c.N, first)
		case first:
			dst = append(strconv.AppendUint(dst, c.N, 10), plural(c.N, " event")...)
			dst = append(append(dst, ' '), c.Name...)
		default:
			dst = strconv.AppendUint(append(dst, ", "...), c.N, 10)
			dst = append(append(dst, ' '), c.Name...)
		}
		if c.Name == "unmatched" {
			dst = appendHalves(dst, l)
		}
		first = false
	}
	return dst
}

// appendHalves appends how many starts and ends of pairs have no partner.
func appendHalves(dst []byte, l *event.Loss) []byte {
	starts := l.Unmatched - min(l.Unmatched, l.EndsAlone)
	switch {
	case l.Unmatched == 1 && starts == 0:
		return append(dst, " (an end without a start)"...)
	case l.Unmatched == 1:
		return append(dst, " (a start without an end)"...)
	case starts == 0:
		return append(dst, " (ends without a start)"...)
	case l.EndsAlone == 0:
		return append(dst, " (starts without an end)"...)
	}
	dst = strconv.AppendUint(append(dst, " ("...), l.EndsAlone, 10)
	dst = append(append(dst, plural(l.EndsAlone, " end")...), " without a start, "...)
	dst = append(strconv.AppendUint(dst, starts, 10), plural(starts, " start")...)
	return append(dst, " without an end)"...)
}

// appendEarly appends "1 source ended early". The number of events that it
// would have sent is unknown.
func appendEarly(dst []byte, n uint64, first bool) []byte {
	if !first {
		dst = append(dst, ", "...)
	}
	return append(append(strconv.AppendUint(dst, n, 10), plural(n, " source")...), " ended early"...)
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// LossFields returns the losses that are not zero as fields of a note.
func LossFields(l event.Loss) []NoteField {
	var fields []NoteField
	for _, c := range l.Counts() {
		if c.N > 0 {
			fields = append(fields, NoteField{Name: c.Name, Value: event.UintOf(c.N)})
		}
	}
	return fields
}
