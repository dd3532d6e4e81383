package perf

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// An event that a fold emits has its values, each of its kind, and texts end at the
// NUL.
func TestBufferEmits(t *testing.T) {
	f := newFake()
	st := &event.Stream{Index: 2, Label: "fold", Schema: &event.Schema{}}
	took := event.Field{Place: event.InSlot, Unit: event.Nanos, Signed: true}
	name := event.Field{Place: event.InSlot, Kind: event.Str, Offset: 1}
	all := event.Field{Place: event.InSlot, Offset: 2}
	f.index, f.cpu = 4, 3
	f.rows = append(f.rows, sent.NewRows(&sent.Record{Slots: 3, Columns: []sent.Column{
		{Of: &expr.Field{F: &took}, Size: 8},
		{Of: &expr.Field{F: &name}, Off: 8, Size: 16, Form: sent.Text},
		{Of: &expr.Field{F: &all}, Off: 24, Size: 8},
	}}, st, nil))
	word := func(text string) uint64 {
		var b [8]byte
		copy(b[:], text)
		return binary.LittleEndian.Uint64(b[:])
	}
	const n = 259
	for i := range uint64(n) {
		f.put(0, 1000+i, 7<<32|9, 1, i, word("somebody"), word([]string{"", " else"}[i%2]), 1<<63|i)
		if i%20 != 19 && i != n-1 {
			continue
		}
		from := i / 20 * 20
		for k, e := range f.all() {
			i := from + uint64(k)
			want := []event.Value{
				event.DurationOf(int64(i)), event.StrOf([]string{"somebody", "somebody else"}[i%2]),
				event.UintOf(1<<63 | i),
			}
			if e.Time != event.Time(1000+i) || e.Stream != st || e.PID != 7 || e.TID != 9 || e.CPU != 3 ||
				e.Ring != 4 || e.Kind != event.Sample || e.Derived.Start != nil {
				t.Fatalf("got event %+v", e)
			}
			for s, v := range e.Derived.Slots {
				if v.Kind != want[s].Kind || v.Compare(want[s]) != 0 {
					t.Fatalf("event %d: got %v, want %v", i, e.Derived.Slots, want)
				}
			}
		}
		f.Release()
	}
	if f.stat.Corrupt != 0 || f.stat.Records != n {
		t.Errorf("got %+v, want %d records", f.stat, n)
	}
	f.put(0, 1, 0, 1, 0) // too short
	if evs := f.all(); len(evs) != 0 || f.stat.Corrupt != 1 {
		t.Errorf("got %d events, %+v, want one corrupt", len(evs), f.stat)
	}
}
