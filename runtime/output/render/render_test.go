package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"
	"ppscript/runtime/text/unit"
)

func newRenderer(t *testing.T, w io.Writer, o Options) Renderer {
	t.Helper()
	r, err := New(w, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOptionErrors(t *testing.T) {
	f := func(o Options, want string) {
		t.Helper()
		_, err := New(io.Discard, o)
		if err == nil || !strings.Contains(err.Error(), want) || diag.ClassOf(err) != diag.Usage ||
			diag.HintOf(err) == "" {
			t.Errorf("%+v: got error %v with hint %q, want a usage error with %q and a hint", o, err,
				diag.HintOf(err), want)
		}
	}
	f(Options{Format: "jsno"}, "did you mean json?")
	f(Options{Color: "yes"}, "--color")
	f(Options{Time: "utc"}, "wall, rel, mono, delta")
}

// TestLossIsAlwaysShown checks that every counter of a Loss is visible in every format, also when
// there are no rows.
func TestLossIsAlwaysShown(t *testing.T) {
	losses := map[string]event.Loss{
		"lost":      {Lost: 7},
		"dropped":   {Dropped: 7},
		"broken":    {Broken: 7},
		"late":      {Late: 7},
		"truncated": {Truncated: 7},
		"unmatched": {Unmatched: 7},
		"evicted":   {Evicted: 7},
		"errors":    {Errors: 7},
		"throttled": {Throttled: 7},
		"ended":     {EndedEarly: 7},
	}
	for name, loss := range losses {
		for _, format := range Formats() {
			var tabOut, histOut, notes bytes.Buffer
			m := result.Meta{Name: "r", Loss: loss}
			r := newRenderer(t, &tabOut, Options{Format: format, Notes: &notes})
			r.Show(&result.Table{Meta: m})
			r.Flush()
			r = newRenderer(t, &histOut, Options{Format: format, Notes: &notes})
			r.Show(result.NewHistogram(m, nil, result.Column{}, nil))
			r.Flush()
			for what, out := range map[string]string{
				"table":     tabOut.String() + notes.String(),
				"histogram": histOut.String() + notes.String(),
			} {
				if !strings.Contains(out, name) || !strings.Contains(out, "7") {
					t.Errorf("%s as %s, 7 %s: got %q, want the count shown", what, format, name, out)
				}
			}
		}
	}
}

func TestNothingToSayIsNotWritten(t *testing.T) {
	var out bytes.Buffer
	for _, format := range []string{"text", "csv"} {
		r := newRenderer(t, &out, Options{Format: format})
		r.Show(&result.Table{
			Meta: result.Meta{Name: "r", Title: "x"}, Columns: []result.Column{{Name: "n"}},
		})
		r.Show(result.NewHistogram(result.Meta{Name: "h"}, nil, result.Column{}, nil))
		r.Flush()
		if out.Len() > 0 {
			t.Errorf("%s of results without rows: got %q, want nothing", format, out.String())
		}
	}
}

func TestNotesAreKeptApart(t *testing.T) {
	for _, format := range []string{"text", "csv"} {
		var out, notes bytes.Buffer
		r := newRenderer(t, &out, Options{Format: format, Notes: &notes})
		r.Note("lost", NoteField{"events", event.IntOf(3)}, NoteField{"ring", event.StrOf("cpu\n1")})
		r.Flush()
		if want := "lost: events=3 ring=cpu\\n1\n"; notes.String() != want || out.Len() > 0 {
			t.Errorf("%s: got notes %q and output %q, want notes %q only", format, notes.String(),
				out.String(), want)
		}
	}
}

// A cell gets its name while it is written. A note about that is a record of its own, behind the table's.
func TestNotesOfCellsAreWhole(t *testing.T) {
	var out bytes.Buffer
	r := newRenderer(t, &out, Options{Format: "json"})
	about := func(name string) {
		r.Note("message", NoteField{"text", event.StrOf("no name for " + name)},
			NoteField{"long", event.StrOf(strings.Repeat("x", bufferBytes))})
	}
	column := result.Column{Name: "stack", Wording: result.Wording{Text: func(v event.Value) string {
		about(v.String())
		return "?"
	}}}
	r.Show(&result.Table{Meta: result.Meta{Name: "t"}, Columns: []result.Column{column},
		Rows: [][]event.Value{{event.IntOf(1)}, {event.IntOf(2)}}})
	about("x")
	r.Flush()
	var got []string
	for line := range strings.Lines(out.String()) {
		var record struct {
			Type string
			Data struct{ Text string }
		}
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, record.Type+" "+record.Data.Text)
	}
	want := []string{"table ", "message no name for 1", "message no name for 2", "message no name for x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reader that went away is an error that callers can tell from others, at
// once and at every later call.
func TestClosedPipe(t *testing.T) {
	for _, format := range Formats() {
		rd, wr, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		rd.Close()
		r := newRenderer(t, wr, Options{Format: format, Clock: clock})
		r.Show(latency())
		if err := r.Flush(); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s: got error %v, want EPIPE", format, err)
		}
		if err := r.Show(latency()); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("%s, next table: got error %v, want EPIPE", format, err)
		}
		wr.Close()
	}
}

// A long log reaches the writer without Flush, and the buffer stays
// bounded.
func TestBufferIsBounded(t *testing.T) {
	var out bytes.Buffer
	r := newRenderer(t, &out, Options{Clock: clock})
	e := wakeup(wakeupSchema(), "worker", "db", 0, 0)
	for range 2000 {
		if err := r.Show(&result.Line{Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	if out.Len() < 2000*100-bufferBytes-1000 {
		t.Errorf("got %d bytes written before Flush, want all but %d", out.Len(), bufferBytes)
	}
}

func TestColor(t *testing.T) {
	f := func(mode string, want bool) {
		t.Helper()
		var out bytes.Buffer
		r := newRenderer(t, &out, Options{Color: mode})
		r.Show(latency())
		r.Flush()
		if got := strings.Contains(out.String(), "\x1b["); got != want {
			t.Errorf("color %q into a buffer: got colour %v, want %v", mode, got, want)
		}
	}
	f("", false)
	f("auto", false)
	f("never", false)
	f("always", true)

	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("/dev/null: got a terminal, want none")
	}
	if ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0); err == nil {
		defer ptmx.Close()
		t.Setenv("TERM", "xterm")
		t.Setenv("NO_COLOR", "")
		if !colored(ptmx, "auto") {
			t.Error("pseudo terminal: got no colour, want colour")
		}
		t.Setenv("NO_COLOR", "1")
		if colored(ptmx, "auto") {
			t.Error("pseudo terminal with NO_COLOR: got colour, want none")
		}
	}
}

func TestCells(t *testing.T) {
	f := func(c result.Column, v event.Value, want string) {
		t.Helper()
		if got := string(appendCell(nil, &c, v, event.Value{}, utc("wall"))); got != want {
			t.Errorf("%+v of %v: got %q, want %q", c, v, got, want)
		}
	}
	num := func(u unit.Unit, prec int) result.Column { return result.Column{Unit: u, Prec: prec} }
	f(num(unit.US, -1), event.IntOf(math.MinInt64), "-9223372036854775.808")
	f(num(unit.US, -1), event.IntOf(5), "0.005")
	f(num(unit.US, 1), event.IntOf(1234567), "1234.6")
	f(num(unit.MS, -1), event.DurationOf(1234567), "1.235")
	f(num(unit.S, 0), event.DurationOf(1600000000), "2")
	f(num(unit.NS, -1), event.FloatOf(12.6), "13")
	f(num(unit.MiB, -1), event.IntOf(3<<19), "1.5")
	f(num(unit.Percent, -1), event.FloatOf(12.345), "12.35")
	f(num(unit.Number, -1), event.DurationOf(1500), "1.5us")
	f(num(unit.Number, -1), event.FloatOf(2.5), "2.5")
	f(num(unit.Number, -1), event.FloatOf(-0.0004), "0")
	f(num(unit.Number, -1), event.FloatOf(math.NaN()), "NaN")
	f(num(unit.Number, 2), event.IntOf(7), "7.00")
	f(num(unit.Number, 0), event.TimeOf(2206475150600), "2026-01-02 09:59:59.475151")
	f(num(unit.US, -1), event.TimeOf(1500), "1.500")
	f(num(unit.Number, 0), event.UintOf(1<<64-1), "18446744073709551615")
	f(num(unit.Number, 0), event.BoolOf(true), "true")
	f(num(unit.Number, 0), event.ListOf(event.IntOf(1), event.StrOf("a")), "(1, a)")
	f(num(unit.Number, 0), event.Value{}, "-")
	f(result.Column{Kind: result.KeyColumn}, event.Value{}, "")
	f(result.Column{Hex: true}, event.IntOf(-1), "0xffffffffffffffff")
	angled := result.Wording{Text: func(v event.Value) string { return "<" + v.String() + ">" }}
	f(result.Column{Wording: angled}, event.IntOf(3), "<3>")
}

func TestRenderingEventsDoesNotAllocate(t *testing.T) {
	e := wakeup(wakeupSchema(), "worker", "db", 0x25, 1)
	for _, format := range Formats() {
		r := newRenderer(t, io.Discard, Options{Format: format, Clock: clock, Location: time.UTC})
		l := &result.Line{Event: e}
		n := testing.AllocsPerRun(2000, func() {
			e.Time += 700
			if err := r.Show(l); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%s: got %v allocations for each event, want 0", format, n)
		}
	}
}

// FuzzHostileText checks that JSON is valid, is valid UTF-8 and reads back unchanged, with any text
// in the events; CSV keeps its columns; text keeps its lines.
func FuzzHostileText(f *testing.F) {
	for _, s := range []string{"", "db", "a\"b\\c", "\x1b[2J\xff", "x,y\r\n\"z\"", "\u2028é日本", "#x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tab := &result.Table{
			Meta: result.Meta{Name: s, Title: s}, Columns: []result.Column{{Name: "c"}, {Name: "n"}},
		}
		tab.Rows = [][]event.Value{{event.StrOf(s), event.IntOf(1)}, {event.StrOf("x"), event.IntOf(2)}}
		render := func(format string) string {
			var out bytes.Buffer
			r := newRenderer(t, &out, Options{Format: format, Time: "mono"})
			r.Show(tab)
			r.Show(&result.Line{Event: wakeup(wakeupSchema(), s, "db", 0, 0)})
			r.Note(s, NoteField{s, event.StrOf(s)})
			r.Flush()
			return out.String()
		}
		out := render("json")
		if !utf8.ValidString(out) || strings.Count(out, "\n") != 3 {
			t.Fatalf("json: got %q, want 3 lines of valid UTF-8", out)
		}
		for line := range strings.Lines(out) {
			var rec struct {
				V    int
				Type string
				Data struct{ Name, Comm *string }
			}
			if err := json.Unmarshal([]byte(line), &rec); err != nil || rec.V != 1 {
				t.Fatalf("json: %v in %q", err, line)
			}
			want := plain.Valid(s)
			if utf8.ValidString(s) && rec.Type == "event" && *rec.Data.Comm != want {
				t.Errorf("json: got comm %q back, want %q", *rec.Data.Comm, want)
			}
		}
		if out := render("text"); strings.Count(out, "\n") != 5+2+strings.Count(s, "\n") {
			t.Errorf("text: got %q, want 7 lines and those of the title", out)
		}
		rd := csv.NewReader(strings.NewReader(render("csv")))
		rd.Comment, rd.FieldsPerRecord = '#', -1
		rows, err := rd.ReadAll()
		if err != nil || len(rows) != 5 {
			t.Fatalf("csv: got %d rows and error %v, want 5", len(rows), err)
		}
		for i, want := range []int{4, 4, 4, 8, 8} {
			if len(rows[i]) != want {
				t.Errorf("csv row %d: got %q, want %d fields", i, rows[i], want)
			}
		}
	})
}
