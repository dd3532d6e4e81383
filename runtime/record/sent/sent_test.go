package sent

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// of is a column of a field at a place of the record of a part.
func of(part expr.Part, f event.Field, form Form, off, size int) Column {
	return Column{Part: part, Of: &expr.Field{F: &f, Part: part}, Form: form, Off: off, Size: size}
}

// aPair returns the columns of a pair with the time, thread and so on of its events, and
// their size in bytes.
func aPair() (columns []Column, size int) {
	columns = []Column{{Origin: Delay, Part: expr.Start, Size: 8}, {Origin: Time, Part: expr.End, Size: 8},
		{Origin: Task, Part: expr.Start, Size: 8}, {Origin: Context, Part: expr.Start, Size: 8},
		{Origin: Context, Part: expr.End, Size: 8}}
	return columns, Lay(columns, 0)
}

// TestShownInMemoryOfBefore checks that the memory of events is reused after Release.
func TestShownInMemoryOfBefore(t *testing.T) {
	st := &event.Stream{Schema: &event.Schema{}}
	columns, size := aPair()
	rec := make([]byte, HeadSize+size+32)
	binary.LittleEndian.PutUint64(rec[HeadTask:], 7<<32|9)
	copy(rec[HeadSize+8:], "somebody")
	raw := func(part expr.Part, to, off, size int) Column {
		return of(part, event.Field{Place: event.InRaw, Offset: to, Size: size}, Number, off, size)
	}
	for name, r := range map[string]*Record{
		"pairs": {Slots: 1, Start: &Part{}, End: &Part{},
			Columns: append(columns, raw(expr.Start, 8, size, 8), raw(expr.End, 16, size+8, 4))},
		"chains": chained(st),
		"emitted": {Slots: 2, Columns: []Column{
			of(expr.Self, event.Field{Place: event.InSlot, Signed: true}, Number, 0, 8),
			of(expr.Self, event.Field{Place: event.InSlot, Offset: 1, Kind: event.Str}, Text, 8, 16)}},
		"unpaired": {Slots: 3, Start: &Part{}, Columns: []Column{
			{Origin: Task, Part: expr.Start, Off: 48, Size: 8},
			{Origin: Age, Slot: 1, Size: 8}, raw(expr.Start, 8, 8, 8)}},
	} {
		s := NewRows(r, st, []*event.Stream{st})
		if name == "unpaired" {
			binary.LittleEndian.PutUint64(rec[HeadSize+48:], 7<<32|9)
		}
		var e event.Event
		all := func() {
			for range 300 {
				if e = (event.Event{Time: 5}); !s.Show(&e, rec) || e.TID != 9 {
					t.Fatalf("%s: got %+v", name, e)
				}
			}
			s.Release()
		}
		if n := testing.AllocsPerRun(3, all); n != 0 {
			t.Errorf("%s: got %v allocations, want none", name, n)
		}
		if s.Show(&e, rec[:HeadSize+8]) {
			t.Errorf("%s: got an event of a record that is too short", name)
		}
	}
}

// chained is a pair whose start is a pair, and whose end a fold emitted.
func chained(st *event.Stream) *Record {
	columns, size := aPair()
	return &Record{Slots: 1, Start: &Part{Stream: st}, End: &Part{Stream: st}, Columns: append(columns,
		of(expr.Start, event.Field{Place: event.InMember, Member: event.MemberDelay}, Number, size, 8),
		of(expr.Start, event.Field{Place: event.InSlot, Kind: event.Str}, Text, size+16, 16),
		of(expr.End, event.Field{Place: event.InSlot, Signed: true}, Number, size+8, 8))}
}

// A pair within a pair has its delay and its key, and an event from a fold its
// values.
func TestPairsOfDerivedEvents(t *testing.T) {
	st := &event.Stream{Schema: &event.Schema{}}
	_, size := aPair()
	rec := make([]byte, HeadSize+size+32)
	put := func(at int, n uint64) { binary.LittleEndian.PutUint64(rec[HeadSize+at:], n) }
	put(0, 30)
	put(8, 1000)
	put(size, 200)
	put(size+8, 77)
	copy(rec[HeadSize+size+16:], "key")
	e := event.Event{Time: 1000}
	if !NewRows(chained(st), st, []*event.Stream{st}).Show(&e, rec) {
		t.Fatal("got no pair")
	}
	start, end := e.Derived.Start, e.Derived.End
	if d := start.Derived; start.Time != 970 || d.Start.Time != 770 || d.End.Time != 970 ||
		d.Slots[0].String() != "key" || start.Raw != nil {
		t.Errorf("got the start %+v of %+v, want one at 970 that took 200", start, d)
	}
	if d := end.Derived; end.Time != 1000 || d.Start != nil || d.Slots[0].Int() != 77 {
		t.Errorf("got the end %+v of %+v, want 77", end, d)
	}
}

// What a fold emits lies between two events, each of which is one of several, or between none if
// the one with which the state began is not known.
func TestFoldContext(t *testing.T) {
	a := &event.Stream{Label: "a", Schema: &event.Schema{ID: 1, Size: 16}}
	b := &event.Stream{Label: "b", Schema: &event.Schema{ID: 2, Size: 16}}
	value := []Column{of(expr.Self, event.Field{Place: event.InRaw, Offset: 8, Size: 8}, Number, 0, 8)}
	part := func(off int) *Part {
		return &Part{Inputs: [][]Column{nil, Moved(value, off), Moved(value, off)}}
	}
	r := &Record{Columns: append(MomentColumns(expr.Start, 0), MomentColumns(expr.End, MomentSize)...),
		Start: part(2 * MomentSize), End: part(2*MomentSize + 8)}
	s := NewRows(r, &event.Stream{}, []*event.Stream{nil, a, b})
	rec := make([]byte, HeadSize+2*MomentSize+16)
	for i, w := range []uint64{2, 100, 5<<32 | 6, 3, 77, 3, 200, 5<<32 | 7, 4, 0, 11, 12} {
		binary.LittleEndian.PutUint64(rec[HeadSize+8*i:], w)
	}
	var e event.Event
	if !s.Show(&e, rec) {
		t.Fatal("got no event")
	}
	raw := func(e *event.Event) uint64 { return binary.LittleEndian.Uint64(e.Raw[8:]) }
	if x := e.Derived.Start; x.Stream != a || x.Time != 100 || x.TID != 6 || x.CPU != 3 || raw(x) != 11 ||
		x.Derived.Slots[0].Uint() != 77 {
		t.Errorf("got the first event %+v", x)
	}
	if x := e.Derived.End; x.Stream != b || x.Time != 200 || x.TID != 7 || x.CPU != 4 || raw(x) != 12 ||
		x.Derived != nil {
		t.Errorf("got the event at hand %+v", x)
	}
	for source, want := range map[uint64]bool{0: true, 1: false, 9: false} {
		binary.LittleEndian.PutUint64(rec[HeadSize:], source)
		if got := s.Show(&e, rec); got != want || got && e.Derived.Start != nil {
			t.Errorf("source %d: got %t, %+v, want %t and no events", source, got, e.Derived, want)
		}
	}
}

// TestLocatedTexts checks that located texts follow the fields in the event's record, and that a
// text that was cut ends with the mark.
func TestLocatedTexts(t *testing.T) {
	const room = 16
	fields := []event.Field{
		{Name: "path", Kind: event.Str, Place: event.DataLoc, Offset: 8, Size: 4},
		{Name: "name", Kind: event.Str, Place: event.RelLoc, Offset: 12, Size: 4},
	}
	p := &Projection{Size: 48, Located: []LocatedText{
		{From: 0, Room: LocatorSize + room, To: 8, Text: 16},
		{From: LocatorSize + room, Room: LocatorSize + room, To: 12, Text: 32, Rel: true},
	}}
	p.Size = 32 + LocatorSize + room
	records := NewRecords(p)
	f := func(path, name, wantPath, wantName string) {
		t.Helper()
		sent := make([]byte, 2*(LocatorSize+room))
		for i, s := range []string{path, name} {
			at := sent[i*(LocatorSize+room):][:LocatorSize+room]
			for k := range at {
				at[k] = 'x' // a rest of the previous content
			}
			binary.LittleEndian.PutUint64(at, uint64(len(s)+1)<<16|40)
			at[LocatorSize+copy(at[LocatorSize:LocatorSize+room-1], s)] = 0
		}
		e := event.Event{Raw: records.Show(sent)}
		for i, want := range []string{wantPath, wantName} {
			if got := string(fields[i].Text(&e)); got != want {
				t.Errorf("%s: got %q, want %q", fields[i].Name, got, want)
			}
		}
		records.Release()
	}
	f("/bin/true", "eth0", "/bin/true", "eth0")
	f("", "a", "", "a")
	f("123456789012345", "1234567890123456", "123456789012345", "123456789012...")
	f("/a/path/that/is/long", "", "/a/path/that...", "")
}
