package expr_test

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
	. "ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
)

// switchSchema is sched:sched_switch as most kernels have it.
func switchSchema() *event.Schema {
	return &event.Schema{System: "sched", Name: "sched_switch", Fields: []event.Field{
		{Name: "common_type", Type: "unsigned short", Size: 2},
		{Name: "common_pid", Type: "int", Offset: 4, Size: 4, Signed: true},
		{Name: "prev_comm", Type: "char[16]", Kind: event.Str, Offset: 8, Size: 16, Elem: 1},
		{Name: "prev_pid", Type: "pid_t", Offset: 24, Size: 4, Signed: true},
		{Name: "prev_prio", Type: "int", Offset: 28, Size: 4, Signed: true},
		{Name: "prev_state", Type: "long", Offset: 32, Size: 8, Signed: true},
		{Name: "next_comm", Type: "char[16]", Kind: event.Str, Offset: 40, Size: 16, Elem: 1},
		{Name: "next_pid", Type: "pid_t", Offset: 56, Size: 4, Signed: true},
		{Name: "next_prio", Type: "int", Offset: 60, Size: 4, Signed: true},
	}, Size: 64}
}

// switchEvents is a batch whose values vary, so that branches are not all
// predicted.
func switchEvents(n int) []event.Event {
	events := make([]event.Event, n)
	seed := uint32(1)
	for i := range events {
		raw := make([]byte, 64)
		copy(raw[8:], "swapper/0")
		copy(raw[40:], "kworker/0:1")
		seed = seed*1664525 + 1013904223
		binary.LittleEndian.PutUint32(raw[24:], seed>>20)
		binary.LittleEndian.PutUint32(raw[28:], 120)
		binary.LittleEndian.PutUint64(raw[32:], uint64(seed>>10&3))
		binary.LittleEndian.PutUint32(raw[56:], seed>>12&0xfff)
		binary.LittleEndian.PutUint32(raw[60:], 120)
		events[i] = event.Event{Raw: raw, PID: 1, TID: 2, CPU: int32(i & 7), Time: event.Time(i)}
	}
	return events
}

func mustCompile(tb testing.TB, src string) *Program {
	tb.Helper()
	p, err := cexpr.Compile(src, &Scope{Schema: switchSchema()})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// BenchmarkPredicate measures what a filter costs for each event, frame reset
// included. machine is the same predicate on a small register machine, for the
// choice of closures; see machine_test.go.
func BenchmarkPredicate(b *testing.B) {
	events := switchEvents(1024)
	for _, v := range []struct{ name, src string }{
		{"one", "prev_prio < 121"},
		{"two", "prev_prio < 121 && prev_state == 0"},
		{"two-int", "prev_prio < 121 && next_prio > 100"},
		{"three", "prev_prio < 121 && next_prio > 100 && prev_state == 0"},
		{"fields", "prev_pid != next_pid"},
		{"mask", "prev_state & 3"},
		{"text", `prev_comm == "swapper/0"`},
		{"glob", `next_comm ~ "kworker*"`},
	} {
		p := mustCompile(b, v.src)
		b.Run("closures/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			var f Frame
			hits := 0
			for i := 0; i < b.N; i++ {
				f.Reset(&events[i&1023])
				if p.Bool(&f) {
					hits++
				}
			}
			if f.Err != nil || hits == 0 && b.N > 1024 {
				b.Fatalf("got %d hits, error %v", hits, f.Err)
			}
		})
		m := assemble(p.Node)
		if m == nil {
			continue
		}
		b.Run("machine/"+v.name, func(b *testing.B) {
			b.ReportAllocs()
			var f Frame
			hits := 0
			for i := 0; i < b.N; i++ {
				f.Reset(&events[i&1023])
				if m.run(&f) != 0 {
					hits++
				}
			}
			if f.Err != nil || hits == 0 && b.N > 1024 {
				b.Fatalf("got %d hits, error %v", hits, f.Err)
			}
		})
	}
}

// BenchmarkKey measures key functions.
func BenchmarkKey(b *testing.B) {
	events := switchEvents(1024)
	for _, v := range []struct{ name, src string }{
		{"field", "next_pid"},
		{"choice", "prev_state == 0 ? prev_pid : next_pid"},
		{"arith", "(prev_pid << 8) | (next_prio & 0xff)"},
	} {
		p := mustCompile(b, v.src)
		b.Run(v.name, func(b *testing.B) {
			b.ReportAllocs()
			var f Frame
			sum := int64(0)
			for i := 0; i < b.N; i++ {
				f.Reset(&events[i&1023])
				sum += p.Int(&f)
			}
			if f.Err != nil || sum == 0 && b.N > 1024 {
				b.Fatalf("got sum %d, error %v", sum, f.Err)
			}
		})
	}
}
