package perfdata

import (
	"testing"
	"time"

	"ppscript/runtime/event"
)

func TestMoment(t *testing.T) {
	wall := time.Date(2026, 1, 2, 10, 20, 30, 0, time.Local)
	s := Span{First: 5e9, Last: 9e9, At: 4e9, Wall: wall}
	f := func(text string, want event.Time) {
		t.Helper()
		m, err := ParseMoment(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return
		}
		if got, err := m.In(s); got != want || err != nil {
			t.Errorf("%s: got %d and %v, want %d", text, got, err, want)
		}
	}
	f("2s", 7e9)
	f("+500ms", 5.5e9)
	f("-2s", 7e9)
	f("5", 5e9)
	f("5.000000001", 5e9+1)
	f("1767323.123456", 1767323123456e3)
	f("10:20:31.5", 5.5e9)
	f("10:21", 34e9)
	f("2026-01-02 10:20:32", 6e9)
	f("2026-01-02T10:20:32.25", 6.25e9)
	f(wall.Add(3*time.Second).UTC().Format(time.RFC3339), 7e9)

	refused := func(text string, s Span) {
		t.Helper()
		m, err := ParseMoment(text)
		if err == nil {
			_, err = m.In(s)
		}
		if err == nil {
			t.Errorf("%s: got no error", text)
		}
	}
	for _, text := range []string{"", "x", "1.2.3", "--2s", "25:00", "99999999999999999999", "2026-13-01"} {
		refused(text, s)
	}
	unknown := Span{First: 5e9}
	refused("-2s", unknown)
	refused("10:20", unknown)
	refused("2026-01-02", unknown)
}
