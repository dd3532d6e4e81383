package render

import (
	"strconv"
	"time"

	"ppscript/runtime/event"
)

// A stamper writes times in the mode of --time. It formats the date only once
// per second, since a log may have thousands of lines per second.
type stamper struct {
	sec    int64
	date   [19]byte
	filled bool
	prev   event.Time
	seen   bool
}

const dateLayout = "2006-01-02 15:04:05"

// appendWall appends "2006-01-02 15:04:05.000000", rounded to microseconds.
func (s *stamper) appendWall(dst []byte, t time.Time, loc *time.Location) []byte {
	us := (t.UnixNano() + 500) / 1000
	sec, frac := us/1e6, us%1e6
	if frac < 0 {
		sec, frac = sec-1, frac+1e6
	}
	if !s.filled || s.sec != sec {
		if loc == nil {
			loc = time.Local
		}
		time.Unix(sec, 0).In(loc).AppendFormat(s.date[:0], dateLayout)
		s.sec, s.filled = sec, true
	}
	dst = append(dst, s.date[:]...)
	dst = append(dst, '.')
	return appendZeros(dst, uint64(frac), 6)
}

// appendColumn appends the first column of an event line and a blank. In mode
// mono it appends nothing, since the line has the time anyway.
func (s *stamper) appendColumn(dst []byte, t event.Time, o *lineOptions) []byte {
	switch o.Time {
	case "mono":
		return dst
	case "rel":
		dst = appendRight(dst, int64(t-o.Start), false)
	case "delta":
		d := int64(t - s.prev)
		if !s.seen {
			d = 0
		}
		s.prev, s.seen = t, true
		dst = appendRight(dst, d, true)
	default:
		if o.Clock == nil {
			return dst
		}
		dst = s.appendWall(dst, o.Clock(t), o.Location)
	}
	return append(dst, ' ')
}

// appendMoment appends a single time, such as before a table. wall is used if
// it is not zero.
func (s *stamper) appendMoment(dst []byte, t event.Time, wall time.Time, o *lineOptions) []byte {
	switch o.Time {
	case "mono":
	case "rel":
		t -= o.Start
	case "delta":
		d := t - s.prev
		if !s.seen {
			d = 0
		}
		s.prev, s.seen = t, true
		return appendSeconds(append(dst, '+'), int64(d))
	default:
		if wall.IsZero() && o.Clock != nil {
			wall = o.Clock(t)
		}
		if !wall.IsZero() {
			return s.appendWall(dst, wall, o.Location)
		}
	}
	return appendSeconds(dst, int64(t))
}

// dateLayoutExact is the layout for programs: RFC 3339, in UTC, to the nanosecond.
const dateLayoutExact = "2006-01-02T15:04:05.000000000Z07:00"

// Date formats a date for JSON and CSV.
func Date(t time.Time) string { return string(appendDate(nil, t)) }

// appendDate appends a date for JSON and CSV.
func appendDate(dst []byte, t time.Time) []byte { return t.UTC().AppendFormat(dst, dateLayoutExact) }

// appendExactMoment appends a time for JSON and CSV: a date, or seconds with
// all digits, on the source's clock or since the start.
func appendExactMoment(dst []byte, t event.Time, wall time.Time, o *lineOptions) []byte {
	if o.dates(wall) {
		if wall.IsZero() {
			wall = o.Clock(t)
		}
		return appendDate(dst, wall)
	}
	if o.Time == "rel" {
		t -= o.Start
	}
	return appendFixed(dst, event.IntOf(int64(t)), 9)
}

// dates reports whether times are written as dates: by default, if wall-clock
// time is known.
func (o *lineOptions) dates(wall time.Time) bool {
	return (o.Time == "wall" || o.Time == "") && (o.Clock != nil || !wall.IsZero())
}

// appendSeconds appends ns as seconds, rounded to the nearest microsecond.
func appendSeconds(dst []byte, ns int64) []byte {
	n := uint64(ns)
	if ns < 0 {
		dst = append(dst, '-')
		n = -n
	}
	us := (n + 500) / 1000
	dst = strconv.AppendUint(dst, us/1e6, 10)
	return appendZeros(append(dst, '.'), us%1e6, 6)
}

// appendRight appends seconds, right-aligned in 14 cells.
func appendRight(dst []byte, ns int64, plus bool) []byte {
	var tmp [32]byte
	b := tmp[:0]
	if plus && ns >= 0 {
		b = append(b, '+')
	}
	b = appendSeconds(b, ns)
	return append(appendPad(dst, 14-len(b)), b...)
}

// appendZeros appends n with leading zeros to at least width digits.
func appendZeros(dst []byte, n uint64, width int) []byte {
	var tmp [20]byte
	d := strconv.AppendUint(tmp[:0], n, 10)
	for i := len(d); i < width; i++ {
		dst = append(dst, '0')
	}
	return append(dst, d...)
}
