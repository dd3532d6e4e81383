package perf

import (
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/record/sent"
)

// moments returns the columns with the time, thread and so on of the two events of a
// pair.
func moments() []sent.Column {
	return []sent.Column{{Origin: sent.Delay, Part: expr.Start, Size: 8},
		{Origin: sent.Task, Part: expr.Start, Size: 8}, {Origin: sent.Context, Part: expr.Start, Size: 8},
		{Origin: sent.Context, Part: expr.End, Size: 8}, {Origin: sent.Time, Part: expr.End, Size: 8}}
}

// field is a number at a place of the record of a part.
func field(part expr.Part, offset, size int) sent.Column {
	f := &event.Field{Place: event.InRaw, Offset: offset, Size: size}
	return sent.Column{Part: part, Of: &expr.Field{F: f, Part: part}, Size: size}
}

// A sent pair is read with both of its events, and the fields of their records.
func TestBufferPairs(t *testing.T) {
	f := newFake()
	start := &event.Stream{Label: "start", Schema: &event.Schema{ID: 11, Size: 16}}
	end := &event.Stream{Index: 1, Label: "end", Schema: &event.Schema{ID: 12, Size: 24}}
	made := &event.Stream{Index: 2, Label: "start => end", Schema: &event.Schema{}}
	f.index, f.cpu = 4, 3
	columns := append(moments(), field(expr.Start, 8, 8), field(expr.End, 16, 4))
	sent.Lay(columns, 0)
	f.rows = append(f.rows, sent.NewRows(&sent.Record{Slots: 1, Columns: columns, Start: &sent.Part{},
		End: &sent.Part{Input: 1}}, made, []*event.Stream{start, end}))
	const n = 259
	put := func(i uint64) {
		f.put(0, 1000+i, 7<<32|9, 1, 30, 5<<32|6, 2|1<<sent.ContextFlags|3<<sent.ContextPreempt,
			3|4<<sent.ContextFlags, 990+i, 77+i, 88) // sent 10 ns after its end
	}
	for range 2 {
		for from := uint64(0); from < n; from += 20 {
			for i := from; i < min(from+20, n); i++ {
				put(i)
			}
			for i, e := range f.all() {
				i := from + uint64(i)
				d := e.Derived
				if e.Time != event.Time(1000+i) || e.Stream != made || e.PID != 7 || e.TID != 9 ||
					e.CPU != 3 ||
					e.Ring != 4 || e.Kind != event.Sample {
					t.Fatalf("got pair %+v", e)
				}
				if s := d.Start; s.Time != event.Time(960+i) || s.PID != 5 || s.TID != 6 || s.CPU != 2 ||
					s.Stream != start || le64(s.Raw, 0) != 11|1<<16|3<<24|6<<32 || le64(s.Raw, 8) != 77+i {
					t.Fatalf("got start %+v", s)
				}
				if x := d.End; x.Time != event.Time(990+i) || x.TID != 9 || x.CPU != 3 || x.Stream != end ||
					len(x.Raw) != 24 ||
					le64(x.Raw, 0) != 12|4<<16|9<<32 || le64(x.Raw, 16) != 88 {
					t.Fatalf("got end %+v", x)
				}
			}
			f.Release()
		}
	}
	if f.stat.Corrupt != 0 {
		t.Errorf("got %+v, want no corrupt record", f.stat)
	}
	f.put(0, 1, 0, 1, 0) // too short
	if evs := f.all(); len(evs) != 0 || f.stat.Corrupt != 1 {
		t.Errorf("got %d events, %+v, want one corrupt", len(evs), f.stat)
	}
}

// TestBufferPairsAllocate checks that pairs allocate nothing once there is memory for as many as a
// buffer holds.
func TestBufferPairsAllocate(t *testing.T) {
	f := newFake()
	columns := moments()
	sent.Lay(columns, 0)
	f.rows = append(f.rows, sent.NewRows(&sent.Record{Slots: 1, Columns: columns, Start: &sent.Part{},
		End: &sent.Part{}}, &event.Stream{}, []*event.Stream{{Schema: &event.Schema{}}}))
	dst := make([]event.Event, 10)
	if n := testing.AllocsPerRun(100, func() {
		f.put(0, 1, 0, 1, 1, 1, 1, 1, 1)
		f.look(false)
		if f.Read(dst, f.visible) != 1 {
			t.Fatal("got no pair")
		}
		f.Release()
	}); n != 0 {
		t.Errorf("got %v allocations a pair", n)
	}
}
