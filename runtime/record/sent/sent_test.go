package sent

import (
	"encoding/binary"
	"testing"

	"ppscript/runtime/event"
)

// Memory of what is shown is used again when it was released.
func TestShownInMemoryOfBefore(t *testing.T) {
	st := &event.Stream{Schema: &event.Schema{}}
	rec := make([]byte, HeadSize+PairSize+16)
	binary.LittleEndian.PutUint64(rec[HeadTask:], 7<<32|9)
	copy(rec[HeadSize+8:], "somebody")
	for name, s := range map[string]Stream{
		"pairs": NewPairs(&Pair{
			Starts: &Projection{Size: 16, Copies: []Copy{{From: PairSize, To: 8, Size: 8}}},
			Ends:   &Projection{Size: 24, Copies: []Copy{{From: PairSize + 8, To: 16, Size: 4}}},
		}, st, []*event.Stream{st}),
		"chains": NewPairs(chained(st), st, []*event.Stream{st}),
		"emitted": &Emitted{Stream: st, Emits: &Emits{Size: 24, Values: []Value{
			{At: 0, Size: 8, Make: event.IntOf}, {At: 8, Size: 16, Text: true},
		}}},
	} {
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
	}
}

// chained is a pair whose start is a pair, and whose end a fold emitted.
func chained(st *event.Stream) *Pair {
	return &Pair{
		Starts: &Projection{Size: 8}, Ends: &Projection{Size: 8},
		Made: [2]*Made{
			{Stream: st, Pair: true, Delay: PairSize, Values: []Value{{At: 8, Size: 16, Text: true}}},
			{Stream: st, Values: []Value{{At: PairSize + 8, Size: 8, Make: event.IntOf}}},
		},
	}
}

// A pair within a pair has its delay and its key, and what a fold emitted its values.
func TestPairsOfMadeEvents(t *testing.T) {
	st := &event.Stream{Schema: &event.Schema{}}
	rec := make([]byte, HeadSize+PairSize+16)
	put := func(at int, n uint64) { binary.LittleEndian.PutUint64(rec[HeadSize+at:], n) }
	put(PairDelay, 30)
	put(PairEnd, 1000)
	put(PairSize, 200)
	put(PairSize+8, 77)
	copy(rec[HeadSize+8:], "key")
	e := event.Event{Time: 1000}
	if !NewPairs(chained(st), st, []*event.Stream{st}).Show(&e, rec) {
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

// Texts whose place only the record tells are behind the fields of the shown record, and one
// that was cut says so.
func TestLocatedTexts(t *testing.T) {
	const room = 16
	fields := []event.Field{
		{Name: "path", Kind: event.Str, Place: event.DataLoc, Offset: 8, Size: 4},
		{Name: "name", Kind: event.Str, Place: event.RelLoc, Offset: 12, Size: 4},
	}
	p := &Projection{Size: 48, Located: []Located{
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
				at[k] = 'x' // of what was there before
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
