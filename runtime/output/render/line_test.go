package render

import (
	"strings"
	"testing"
	"time"

	"ppscript/runtime/event"
)

func utc(mode string) *lineOptions {
	return &lineOptions{Time: mode, Clock: clock, Location: time.UTC}
}

func TestEventLine(t *testing.T) {
	schema := wakeupSchema()
	f := func(o *lineOptions, e *event.Event, want string) {
		t.Helper()
		if got := string(appendEventLine(nil, e, o)); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	e := wakeup(schema, "worker", "db", 0x25|0x08, 4)
	f(utc("wall"), e,
		"2026-01-02 09:59:59.475151             worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")
	f(utc("mono"), e, "            worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")
	f(&lineOptions{}, e,
		"            worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")
	f(&lineOptions{Time: "rel", Start: 2206000000000}, e,
		"      0.475151             worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")

	o := utc("wall")
	o.Marker, o.Prefix = 'G', "|+ 6.720 us"
	f(o, e, "|+ 6.720 us                G           worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")

	o = utc("delta")
	f(o, e, "     +0.000000             worker   4711 dNh4 [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")
	e.Time += 1500
	f(o, e, "     +0.000002             worker   4711 dNh4 [001] 2206.475152: sched:sched_wakeup: comm=db pid=42")
	e.Time -= 3000
	f(o, e, "     -0.000003             worker   4711 dNh4 [001] 2206.475149: sched:sched_wakeup: comm=db pid=42")

	e = wakeup(schema, "a-name-of-more-than-16", "db", 0, 0)
	e.CPU, e.TID, e.Time = -1, 12345678, 999999500
	f(utc("mono"), e,
		"  a-name-of-more-than-16 12345678 .... [---] 1.000000: sched:sched_wakeup: comm=db pid=42")
	e.CPU, e.Time = 1234, -1500
	f(utc("mono"), e,
		"  a-name-of-more-than-16 12345678 .... [1234] -0.000002: sched:sched_wakeup: comm=db pid=42")

	e = wakeup(schema, "worker", "db", 0, 0)
	e.Stream.Comm = nil
	f(utc("mono"), e, "          pid-4711   4711 .... [001] 2206.475151: sched:sched_wakeup: comm=db pid=42")
}

func TestEventLineWithoutPrintFormat(t *testing.T) {
	schema := &event.Schema{System: "x", Name: "y", Fields: []event.Field{
		{Name: "n", Size: 4, Signed: true},
		{Name: "u", Size: 4, Offset: 4},
		{Name: "a", Size: 8, Offset: 8, Unit: event.AddressU},
		{Name: "arr", Size: 4, Offset: 16, Kind: event.Array, Elem: 2},
		{Name: "raw", Size: 2, Offset: 20, Kind: event.Bytes},
		{Name: "gone", Size: 4, Offset: 22},
	}}
	raw := []byte{
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0xff, 1, 0, 0xff, 0xff,
		0xab, 0xcd,
	}
	e := &event.Event{Stream: &event.Stream{Schema: schema}, Raw: raw, PID: 1, TID: 1, CPU: 0}
	got := string(appendEventLine(nil, e, utc("mono")))
	want := "             pid-1      1 [000] 0.000000: x:y: n=-1 u=4294967295 a=0xff00000000000001 arr={1,65535} raw=abcd gone=-"
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRecordLine(t *testing.T) {
	e := &event.Event{Kind: event.Lost, Count: 12, Time: 1e9, PID: -1, TID: -1, CPU: 3}
	got := string(appendEventLine(nil, e, utc("mono")))
	if want := "                 -     -1 [003] 1.000000: lost: 12 events"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestFlags(t *testing.T) {
	schema := wakeupSchema()
	f := func(flags, preempt byte, want string) {
		t.Helper()
		e := wakeup(schema, "w", "c", flags, preempt)
		got := string(appendFlags(nil, e, learn(schema)))
		if got != want {
			t.Errorf("flags %#x, preempt count %#x: got %q, want %q", flags, preempt, got, want)
		}
	}
	f(0, 0, "....")
	f(0x01, 0, "d...")
	f(0x80, 0, "b...")
	f(0x81, 0, "D...")
	f(0x04, 0, ".n..")
	f(0x02, 0, ".l..")
	f(0x20, 0, ".p..")
	f(0x24, 0, ".N..")
	f(0x22, 0, ".L..")
	f(0x06, 0, ".b..")
	f(0x26, 0, ".B..")
	f(0x40, 0, "..z.")
	f(0x48, 0, "..Z.")
	f(0x08, 0, "..h.")
	f(0x18, 0, "..H.")
	f(0x10, 0, "..s.")
	f(0x58, 0, "..Z.")
	f(0, 0x0c, "...c")
	f(0, 0x30, "...3")
	f(0x25, 0x31, "dN.13")
}

func TestEventLineIsSafe(t *testing.T) {
	e := wakeup(wakeupSchema(), "evil\x1b[2J", "a\nb\xff\u202e", 0, 0)
	got := string(appendEventLine(nil, e, utc("mono")))
	want := `       evil\x1b[2J   4711 .... [001] 2206.475151: sched:sched_wakeup: comm=a\nb\xff\u202e pid=42`
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	e = wakeup(wakeupSchema(), "日本", "db", 0, 0)
	got = string(appendEventLine(nil, e, utc("mono")))
	if want := strings.Repeat(" ", 2+12) + "日本   4711 "; !strings.HasPrefix(got, want) {
		t.Errorf("wide characters: got %q, want prefix %q", got, want)
	}
}

func TestEventLineDoesNotAllocate(t *testing.T) {
	schema := wakeupSchema()
	e := wakeup(schema, "worker", "db", 0x25, 1)
	plainSchema := wakeupSchema()
	plainSchema.Text = nil
	e2 := wakeup(plainSchema, "worker", "db", 0x25, 1)
	for _, mode := range times {
		o := utc(mode)
		var buf []byte
		n := testing.AllocsPerRun(200, func() {
			e.Time += 700
			buf = appendEventLine(buf[:0], e, o)
			buf = appendEventLine(buf, e2, o)
		})
		if n != 0 {
			t.Errorf("mode %s: got %v allocations for each pair of lines, want 0", mode, n)
		}
	}
}

func BenchmarkEventLine(b *testing.B) {
	e := wakeup(wakeupSchema(), "worker", "db", 0x25, 1)
	o := utc("wall")
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		e.Time += 1000
		buf = appendEventLine(buf[:0], e, o)
	}
	b.SetBytes(int64(len(buf)))
}
