package perfetto

import (
	"encoding/binary"
	"io"
	"runtime"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result/timeline"
)

// schemas are a call's beginning and end, and a switch.
func schemas() (enter, exit, sched *event.Stream) {
	num := func(name string, off, size int) event.Field {
		return event.Field{Name: name, Kind: event.Int, Offset: off, Size: size, Signed: true}
	}
	text := func(name string, off int) event.Field {
		return event.Field{Name: name, Kind: event.Str, Offset: off, Size: 16}
	}
	stream := func(index int, system, name string, size int, fields ...event.Field) *event.Stream {
		return &event.Stream{Index: index,
			Schema: &event.Schema{System: system, Name: name, Size: size, Fields: fields}}
	}
	enter = stream(0, "raw_syscalls", "sys_enter", 32, num("id", 0, 8),
		event.Field{Name: "args", Kind: event.Array, Offset: 8, Size: 16, Elem: 8})
	exit = stream(1, "raw_syscalls", "sys_exit", 32, num("id", 0, 8), num("ret", 8, 8))
	sched = stream(2, "sched", "sched_switch", 64, text("prev_comm", 0), num("prev_pid", 16, 4),
		num("prev_prio", 20, 4), num("prev_state", 24, 8), text("next_comm", 32), num("next_pid", 48, 4),
		num("next_prio", 52, 4))
	return enter, exit, sched
}

// work is what a machine does in a round: calls of a thread, as instants and as slices, and
// switches. It returns how many events that are.
func work(b *timeline.Builder) func() int {
	enter, exit, sched := schemas()
	pair := &event.Stream{Index: 3, Label: "call", Schema: &event.Schema{Name: "pair"}}
	raw := make([]byte, 64)
	copy(raw, "bench")
	copy(raw[32:], "other")
	binary.LittleEndian.PutUint64(raw[16:], 4711)
	first := event.Event{Stream: enter, Raw: raw, Rec: raw, PID: 4711, TID: 4711, CPU: 1}
	last := event.Event{Stream: exit, Raw: raw, Rec: raw, PID: 4711, TID: 4711, CPU: 1}
	out := event.Event{Stream: sched, Raw: raw, Rec: raw, PID: 4711, TID: 4711, CPU: 1}
	both := event.Event{Stream: pair, PID: 4711, TID: 4711, CPU: 1,
		Derived: &event.Derived{Start: &first, End: &last}}
	now := event.Time(1e12)
	batch := []*event.Event{&first, &last, &both, &out}
	return func() int {
		first.Time, last.Time, both.Time, out.Time = now, now+200, now+200, now+300
		now += 500
		b.Events(batch)
		return len(batch)
	}
}

// discard is a Builder whose file is thrown away.
func discard() *timeline.Builder {
	return timeline.New(timeline.Options{Writers: []timeline.Writer{New(io.Discard, timeline.About{})}})
}

// heapMB is what the process holds with something that is in use, in MB.
func heapMB(used any) float64 {
	defer runtime.KeepAlive(used)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// BenchmarkTimeline/events is what an event costs on its way into a file, and what
// is held at the end: -benchtime 10000000x is a long run.
func BenchmarkTimeline(b *testing.B) {
	b.Run("events", func(b *testing.B) {
		round := work(discard())
		b.ReportAllocs()
		for n := 0; n < b.N; {
			n += round()
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric(heapMB(round), "heap-MB")
	})
}

// TestNothingIsAllocatedPerEvent checks that events that are like others before take no memory.
func TestNothingIsAllocatedPerEvent(t *testing.T) {
	round := work(discard())
	for range 10_000 {
		round() // buffers grow to their size
	}
	if n := testing.AllocsPerRun(1000, func() { round() }); n != 0 {
		t.Errorf("got %v allocations for four events, want none", n)
	}
}
