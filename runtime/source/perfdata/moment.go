package perfdata

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/text/unit"
)

// A Moment is a time within a recording, in the user's notation. The zero value
// means no time.
type Moment struct {
	kind  momentKind
	at    event.Time    // of atClock
	wall  time.Time     // of atWall
	since time.Duration // of other kinds: since the first sample, the last sample, or midnight
}

type momentKind uint8

const (
	noMoment  momentKind = iota
	atClock              // on the events' clock, as perf script prints it
	atWall               // date and time
	atDayTime            // time of the day on which the recording begins
	fromStart            // after the first sample
	fromEnd              // before the last sample
)

// IsSet reports that m is a time.
func (m Moment) IsSet() bool { return m.kind != noMoment }

// ParseMoment parses a time within a recording:
//
//	2s, 500ms                 after the first sample
//	-2s                       before the last sample
//	441.735402                seconds of the events' clock, as perf script prints them
//	10:20:30.5                time of the day, here, on which the recording begins
//	2026-01-02 10:20:30       date and time here
//	2026-01-02T10:20:30Z      with a zone
func ParseMoment(text string) (Moment, error) {
	if m, ok := parseClock(text); ok {
		return m, nil
	}
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02",
	} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return Moment{kind: atWall, wall: t}, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			midnight := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
			return Moment{kind: atDayTime, since: t.Sub(midnight)}, nil
		}
	}
	length, before := strings.CutPrefix(text, "-")
	length = strings.TrimPrefix(length, "+")
	n, err := unit.ParseDuration(length, 0)
	switch {
	case err != nil || strings.Trim(length, "0123456789.") == "":
		return Moment{}, fmt.Errorf("got %q, want a time such as 2s, -500ms, 10:20:30 or 441.735402", text)
	case before:
		return Moment{kind: fromEnd, since: time.Duration(n)}, nil
	}
	return Moment{kind: fromStart, since: time.Duration(n)}, nil
}

// parseClock parses seconds with a fraction, exactly: a float64 does not have
// enough digits.
func parseClock(text string) (Moment, bool) {
	whole, part, _ := strings.Cut(text, ".")
	if len(part) > 9 || strings.Trim(whole+part, "0123456789") != "" || whole == "" {
		return Moment{}, false
	}
	sec, err := strconv.ParseInt(whole, 10, 64)
	ns, partErr := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	if err != nil || partErr != nil || sec > int64(event.MaxTime)/int64(time.Second)-1 {
		return Moment{}, false
	}
	return Moment{kind: atClock, at: event.Time(sec*int64(time.Second) + ns)}, true
}

// A Span is the time span of a recording, as known when its first sample is
// read.
type Span struct {
	First event.Time
	Last  event.Time // 0 if unknown
	// Wall is the wall-clock time when the events' clock was At; zero if unknown.
	Wall time.Time
	At   event.Time
}

// In converts m to the clock of a recording's events.
func (m Moment) In(s Span) (event.Time, error) {
	wall := m.wall
	switch m.kind {
	case atClock:
		return m.at, nil
	case fromStart:
		if at := s.First + event.Time(m.since); at >= s.First {
			return at, nil
		}
		return event.MaxTime, nil
	case fromEnd:
		if s.Last == 0 {
			return 0, fmt.Errorf("the recording does not say when it ends")
		}
		return s.Last - event.Time(m.since), nil
	}
	if s.Wall.IsZero() {
		return 0, fmt.Errorf("the recording does not say what time of the day it was")
	}
	if m.kind == atDayTime {
		day := s.Wall.Add(time.Duration(s.First - s.At)).Local()
		wall = time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, int(m.since%time.Second), time.Local)
		sec := int(m.since / time.Second)
		wall = time.Date(wall.Year(), wall.Month(), wall.Day(), sec/3600, sec/60%60, sec%60,
			wall.Nanosecond(), time.Local)
	}
	return s.At + event.Time(wall.Sub(s.Wall)), nil
}
