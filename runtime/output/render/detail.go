package render

import (
	"bytes"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file writes a pair with the events around it. In text the first column
// has the date of the start and of the end; all other lines have a bar there,
// followed by the event:
//
//	-Previous -5.758 us
//	|                          an event before the start
//	2026-01-02 10:00:00.123456 the start
//	|+ 52.100 us               the first event between; the number is the delay
//	|        1.234 [wakeup]    since the start, and the task's new state
//	|       18.160 db          how long the thread that leaves the CPU ran
//	|                12 hidden
//	|- 50.000 us               since the start, every 50 lines
//	2026-01-02 10:00:00.123508 the end
//	|                          an event after the end
//	`After 69.023 us

// sinceEvery is the number of lines with an empty prefix after which the time
// since the start is shown.
const sinceEvery = 50

// detail writes a pair and the events around it.
func (r *textRenderer) detail(d *result.Detail) error {
	w := detailWriter{r: r, d: d}
	if d.Before > 0 {
		r.buf = appendMicros(append(r.buf, "-Previous "...), -d.Before, 0)
		r.buf = append(r.buf, " us\n"...)
	}
	i := w.part(0, result.Previous)
	w.line(d.Start, "")
	if d.Listed && d.End != nil {
		w.first = string(appendMicros([]byte("|+ "), d.DelayNS(), 0)) + " us"
	}
	i = w.part(i, result.Between)
	w.ownLine()
	switch {
	case d.End != nil:
	case d.Reason == "alone":
		r.buf = append(r.buf, "| no start was seen.\n"...)
	default:
		r.buf = appendMicros(append(r.buf, "| >= "...), d.DelayNS(), 0)
		r.buf = append(append(append(r.buf, " us, "...), lateText(d.Reason)...), '\n')
	}
	if d.Evicted.Some {
		r.buf = appendMicros(append(r.buf, "| complete since "...), int64(d.Evicted.Since-d.Start.Time), 0)
		r.buf = append(append(r.buf, " us: older events were "...), lessText(d.Evicted.Overwritten)...)
	}
	if d.End != nil {
		w.line(d.End, "")
	}
	w.part(i, result.After)
	if d.After > 0 {
		r.buf = appendMicros(append(r.buf, "`After "...), d.After, 0)
		r.buf = append(r.buf, " us\n"...)
	}
	return r.spill()
}

// lessText says why older events are missing, and how to keep more.
func lessText(overwritten bool) string {
	if overwritten {
		return "overwritten, larger memory of each CPU keeps more: -m PAGES\n"
	}
	return "pushed out: give detail() a larger limit\n"
}

// lateText says why a pair has no end.
func lateText(reason string) string {
	switch reason {
	case "lost":
		return "event2 may be lost."
	case "evicted":
		return "not finished, pushed out by the limit."
	case "replaced":
		return "a newer start took its place."
	case "cancelled":
		return "an event came that makes no pair with it."
	case "exit", "waiting":
		return "not finished."
	}
	return reason + "."
}

type detailWriter struct {
	r     *textRenderer
	d     *result.Detail
	first string // prefix of the next line between start and end: the delay
	quiet int    // number of lines with an empty prefix
}

// part writes the lines of a part, from index i on, and returns the index of
// the next part.
func (w *detailWriter) part(i int, part result.DetailPart) int {
	for ; i < len(w.d.Lines) && w.d.Lines[i].Part == part; i++ {
		l := &w.d.Lines[i]
		if l.Event == nil {
			// The delay is not shown on a line of hidden events.
			w.ownLine()
			n := strconv.Itoa(l.Hidden)
			w.r.buf = appendPad(append(w.r.buf, '|'), 18-len(n))
			w.r.buf = append(append(w.r.buf, n...), " hidden\n"...)
			continue
		}
		w.line(l.Event, w.prefix(l))
		_ = w.r.spill() // a pair may have a million lines; the sink keeps the error
	}
	return i
}

// ownLine writes the delay on a separate line if no line has it yet.
func (w *detailWriter) ownLine() {
	if w.first != "" {
		w.r.buf = append(append(w.r.buf, w.first...), '\n')
		w.first = ""
	}
}

func (w *detailWriter) prefix(l *result.DetailLine) string {
	since := int64(l.Event.Time - w.d.Start.Time)
	w.quiet++
	switch {
	case l.State != "":
		w.ownLine()
		w.quiet = 0
		return string(append(append(appendMicros([]byte("| "), since, 12), " ["...), l.State...)) + "]"
	case w.first != "" && l.Part == result.Between:
		p := w.first
		w.first, w.quiet = "", 0
		return p
	case l.Ran:
		w.quiet = 0
		b := append(appendMicros([]byte("| "), l.RanNS, 12), ' ')
		return string(append(b, cut(l.RanComm, prefixCells-len(b))...))
	case l.Part == result.Between && w.quiet%sinceEvery == 0:
		return string(appendMicros([]byte("|- "), since, 0)) + " us"
	}
	return "|"
}

func cut(b []byte, n int) []byte { return b[:min(len(b), n)] }

func (w *detailWriter) line(e *event.Event, prefix string) {
	w.r.line.Marker, w.r.line.Prefix = 0, prefix
	if w.d.Marker != nil {
		w.r.line.Marker = w.d.Marker(e)
	}
	w.r.buf = append(appendEventLine(w.r.buf, e, &w.r.line), '\n')
	w.r.line.Prefix = ""
	if w.d.Stack == nil {
		return
	}
	stack := w.d.Stack(e)
	if prefix == "" {
		w.r.buf = appendFrameLines(w.r.buf, stack)
		return
	}
	// Lines between start and end keep the bar.
	for line := range bytes.Lines(appendFrameLines(nil, stack)) {
		w.r.buf = append(append(w.r.buf, '|'), line[1:]...)
	}
}

// appendMicros appends ns as microseconds with three decimals, right-aligned in
// width cells.
func appendMicros(dst []byte, ns int64, width int) []byte {
	var tmp [32]byte
	b := tmp[:0]
	n := uint64(ns)
	if ns < 0 {
		b = append(b, '-')
		n = -n
	}
	b = strconv.AppendUint(b, n/1000, 10)
	b = append(b, '.')
	b = appendZeros(b, n%1000, 3)
	return append(appendPad(dst, width-len(b)), b...)
}
