package perfdata

import (
	"testing"
	"time"
)

// Times in recordings as users write them.
func FuzzMoment(f *testing.F) {
	for _, s := range []string{
		"2s", "-500ms", "441.735402", "10:20:30.5", "2026-01-02 10:20:30", "2026-01-02T10:20:30Z", "-+1s",
		"9999999999999", "-9223372036s", "9223372036s", "0000-01-01", "23:59:59.999999999",
	} {
		f.Add(s)
	}
	span := Span{First: 1e9, Last: 20e9, Wall: time.Unix(1_700_000_000, 0), At: 5e9}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMoment(text)
		if (err == nil) != m.Given() {
			t.Fatalf("%q: got %+v and %v", text, m, err)
		}
		if err != nil {
			return
		}
		at, err := m.In(span)
		if err != nil {
			return
		}
		if m.kind == fromStart && at < span.First || m.kind == fromEnd && at > span.Last {
			t.Fatalf("%q: got %v, of a recording of %v to %v", text, at, span.First, span.Last)
		}
	})
}

// A recording in pipe mode comes piece by piece: it holds the same events as a file
// with these bytes, and ends with the same error.
func FuzzPipe(f *testing.F) {
	b := load(f, "pipe")
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 16 || string(b[:8]) != "PERFILE2" || b[8] != 16 {
			return // not in pipe mode
		}
		checkPipe(t, b)
	})
}
