package parquet

import (
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/result"
)

// discard is a sink with one file that is thrown away.
func discard(t testing.TB, name string) (*sink, *out) {
	t.Helper()
	s := &sink{named: map[string]*out{}, fileNames: map[string]bool{}, loss: map[string]uint64{}}
	if err := s.Begin(output.About{}); err != nil {
		t.Fatal(err)
	}
	o := &out{file: newFile(io.Discard, s.zstd), name: name, slots: map[string]*slot{}}
	s.named[name] = o
	return s, o
}

// calls returns what writes the next of events like those of system calls.
func calls(t testing.TB) func() {
	num := func(name string, off int) event.Field {
		return event.Field{Name: name, Kind: event.Int, Offset: off, Size: 8, Signed: true}
	}
	st := &event.Stream{Schema: &event.Schema{System: "raw_syscalls", Name: "sys_exit", Size: 32,
		Fields: []event.Field{num("id", 0), num("ret", 8),
			{Name: "to", Kind: event.Str, Offset: 16, Size: 16}}}}
	st.Comm = func(*event.Event) string { return "bench" }
	raw := make([]byte, 32)
	copy(raw[16:], "a text")
	e := &event.Event{Stream: st, Raw: raw, Rec: raw, PID: 4711, CPU: 1, Time: 1e12}
	line := result.Line{Event: e, Result: "log"}
	s, _ := discard(t, "log")
	return func() {
		e.Time += 700 + e.Time%100
		e.TID = 4711 + int32(e.Time%7)
		binary.LittleEndian.PutUint64(raw, uint64(e.Time%300))
		binary.LittleEndian.PutUint64(raw[8:], uint64(e.Time%10000))
		if err := s.Show(&line); err != nil {
			t.Fatal(err)
		}
	}
}

// heapMB is what the process holds with something that is in use, in MB.
func heapMB(used any) float64 {
	defer runtime.KeepAlive(used)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkRows/events and table are what a row costs on its way into a file, and what is held
// at the end: -benchtime 10000000x is a long run.
func BenchmarkRows(b *testing.B) {
	b.Run("events", func(b *testing.B) {
		next := calls(b)
		b.ReportAllocs()
		for b.Loop() {
			next()
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		b.ReportMetric(heapMB(next), "heap-MB")
	})
	b.Run("table", func(b *testing.B) {
		s, _ := discard(b, "table")
		t := &result.Table{Columns: []result.Column{{Name: "id", Kind: result.KeyColumn}, {Name: "comm"},
			{Name: "n"}, {Name: "total"}, {Name: "avg"}}}
		t.Name = "table"
		for i := range int64(1000) {
			t.Rows = append(t.Rows, []event.Value{event.IntOf(i), event.StrOf("bench"),
				event.UintOf(uint64(i * 31 % 1000)), event.DurationOf(i * i), event.FloatOf(float64(i) / 3)})
		}
		b.ReportAllocs()
		for n := 0; n < b.N; n += len(t.Rows) {
			if err := s.Show(t); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		b.ReportMetric(heapMB(s), "heap-MB")
	})
}

// TestNothingIsAllocatedPerRow checks that rows that are like others before take no memory, but for
// what comes at the end about their group.
func TestNothingIsAllocatedPerRow(t *testing.T) {
	next := calls(t)
	for range 2*maxRows + 1 {
		next() // buffers grow to their size
	}
	if n := testing.AllocsPerRun(10_000, next); n != 0 {
		t.Errorf("got %v allocations for a row, want none", n)
	}
}
