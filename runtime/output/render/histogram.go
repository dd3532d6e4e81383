package render

import (
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

// A bar has the rest of the width, within these bounds in cells.
const (
	minBar = 20
	maxBar = 52
)

// histogram writes each distribution as one line for each bucket: range,
// count, and a bar that is full for the largest count of this distribution.
func (r *textRenderer) histogram(h *result.Table, at int) error {
	if len(h.Rows) == 0 && h.Omitted == 0 && h.Silent() {
		return r.err
	}
	r.heading(&h.Meta, false)
	for _, row := range h.Rows {
		r.distribution(h, at, row)
	}
	r.missing(&h.Meta, len(h.Rows), h.Omitted, "histogram")
	return r.spill()
}

func (r *textRenderer) distribution(h *result.Table, at int, row []event.Value) {
	value := &h.Columns[at]
	d := value.Distribution(row[at])
	r.buf = appendHistHeader(r.buf, h.Columns[:at], value.Name, row, d.Total(), &r.line)
	lines := bucketLines(d.Buckets, value.Unit)
	rangeWidth, countWidth, most := 0, 8, uint64(0)
	for _, l := range lines {
		rangeWidth = max(rangeWidth, cells([]byte(l.text)))
		countWidth = max(countWidth, len(strconv.FormatUint(l.count, 10)))
		most = max(most, l.count)
	}
	bar := min(max(r.width-rangeWidth-countWidth-4, minBar), maxBar)
	for _, l := range lines {
		r.buf = append(appendPad(append(r.buf, l.text...), rangeWidth-cells([]byte(l.text))), ' ')
		count := strconv.FormatUint(l.count, 10)
		r.buf = append(appendPad(r.buf, countWidth-len(count)), count...)
		filled := 0
		if most > 0 {
			filled = int(float64(l.count)/float64(most)*float64(bar) + 0.5)
		}
		r.buf = append(append(r.buf, " |"...), strings.Repeat("@", filled)...)
		r.buf = append(appendPad(r.buf, bar-filled), "|\n"...)
	}
}

// appendHistHeader appends "comm=db cpu=1: delay, 12 events".
func appendHistHeader(dst []byte, keys []result.Column, value string, row []event.Value, n uint64,
	o *lineOptions) []byte {
	for i := range keys {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(plain.Append(dst, keys[i].Name), '=')
		from := len(dst)
		dst = plain.Tail(appendCell(dst, &keys[i], cellOf(row, i), event.Value{}, o), from)
	}
	if len(keys) > 0 {
		dst = append(dst, ": "...)
	}
	if value == "" {
		value = "value"
	}
	dst = append(plain.Append(dst, value), ", "...)
	dst = append(strconv.AppendUint(dst, n, 10), " event"...)
	if n != 1 {
		dst = append(dst, 's')
	}
	return append(dst, '\n')
}

type bucketLine struct {
	text  string
	count uint64
}

// bucketLines lists the buckets from the first to the last with a count.
// Adjacent empty buckets are one line.
func bucketLines(buckets []result.Bucket, u unit.Unit) []bucketLine {
	var lines []bucketLine
	gapLo, end, gap := int64(0), int64(0), false
	for i := range buckets {
		b := &buckets[i]
		if b.Count == 0 {
			if len(lines) > 0 && !gap {
				gapLo, gap = min(end, b.Lo), true
			}
			continue
		}
		if len(lines) > 0 && !gap && b.Lo > end {
			gapLo, gap = end, true // left out by the producer
		}
		if gap {
			lines = append(lines, bucketLine{rangeText(gapLo, b.Lo, u), 0})
		}
		lines = append(lines, bucketLine{rangeText(b.Lo, b.Hi, u), b.Count})
		gap, end = false, b.Hi
	}
	return lines
}

// rangeText returns "[1us, 2us)", or "[5]" for a single whole number.
func rangeText(lo, hi int64, u unit.Unit) string {
	open := "["
	if lo == result.OpenLo {
		open = "("
	} else if hi == lo+1 && (u.Scale == 0 || u.Scale == 1) {
		return "[" + boundText(lo, u) + "]"
	}
	return open + boundText(lo, u) + ", " + boundText(hi, u) + ")"
}

// boundText returns a bound with its unit. Plain numbers that are multiples of
// 1024 are shortened with K, M, G, since buckets begin at powers of two.
func boundText(v int64, u unit.Unit) string {
	switch {
	case v == result.OpenLo:
		return "..."
	case v == result.OpenHi:
		return "..."
	case u.Base == "B":
		return unit.Size(v)
	case u.Scale != 0:
		return strconv.FormatFloat(float64(v)/u.Scale, 'f', -1, 64) + u.Symbol
	}
	suffix := ""
	for _, s := range []string{"K", "M", "G", "T", "P", "E"} {
		if v == 0 || v%1024 != 0 {
			break
		}
		v, suffix = v/1024, s
	}
	return strconv.FormatInt(v, 10) + suffix
}
