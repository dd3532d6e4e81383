package event

import (
	"encoding/binary"
	"testing"
)

func TestKeepOutlivesTheRing(t *testing.T) {
	rec := []byte{9, 0, 0, 0, 0, 0, 16, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	e := Event{Time: 5, Rec: rec, Raw: rec[8:16], TID: 3}
	var kept Event
	e.Keep(&kept)
	clear(rec)
	if got := binary.LittleEndian.Uint64(kept.Raw); got != 0x0807060504030201 || kept.TID != 3 ||
		kept.Time != 5 {
		t.Errorf("got raw %#x tid %d, want the bytes of before", got, kept.TID)
	}
	if off, ok := within(kept.Rec, kept.Raw); !ok || off != 8 {
		t.Errorf("got raw at %d (%v) of rec, want 8: kept events keep the view", off, ok)
	}
	if n := testing.AllocsPerRun(100, func() { e.Keep(&kept) }); n != 0 {
		t.Errorf("got %v allocations, want 0: the buffer is used again", n)
	}
}

func TestKeepOfSyntheticEvents(t *testing.T) {
	start := Event{Raw: []byte{1}, TID: 1}
	e := Event{Raw: []byte{7, 7}, Derived: &Derived{Start: &start, Slots: []Value{StrOf("k")}}}
	var kept Event
	e.Keep(&kept)
	start.TID, e.Raw[0], e.Derived.Slots[0] = 9, 0, Value{}
	if kept.Derived.Start.TID != 1 || kept.Raw[0] != 7 || kept.Derived.Slots[0].String() != "k" {
		t.Errorf("got %+v, want a copy of everything", kept)
	}
	other := Event{Raw: []byte{4, 5, 6}}
	if other.Keep(&kept); string(kept.Raw) != "\x04\x05\x06" || kept.Derived != nil || kept.Rec != nil {
		t.Errorf("got %v after the second Keep, want a plain event", kept)
	}
}

func TestFieldPlaces(t *testing.T) {
	// A u16, a __data_loc text at 12 of 4 bytes, a __rel_loc text 0 bytes
	// behind its locator's end.
	raw := []byte{0xff, 0xff, 0, 0, 12, 0, 4, 0, 0, 0, 4, 0, 'a', 'b', 0, 'x'}
	e := &Event{Raw: raw, CPU: 3, Time: 77}
	s := &Schema{Fields: []Field{
		{Name: "u", Size: 2}, {Name: "s", Size: 2, Signed: true},
		{Name: "d", Kind: Str, Place: DataLoc, Offset: 4, Size: 4},
		{Name: "r", Kind: Str, Place: RelLoc, Offset: 8, Size: 4},
		{Name: "far", Offset: 12, Size: 8},
		{Name: "arr", Kind: Array, Offset: 0, Size: 4, Elem: 2},
	}}
	for name, want := range map[string]string{
		"u":    "65535",
		"s":    "-1",
		"d":    "ab",
		"r":    "ab",
		"cpu":  "3",
		"time": "77",
		"far":  "",
		"arr":  "(65535, 0)",
	} {
		f, ok := s.Field(name)
		if !ok {
			t.Fatalf("field %s: not found", name)
		}
		if got := f.Value(e).String(); got != want {
			t.Errorf("field %s: got %q, want %q", name, got, want)
		}
	}
	if _, ok := s.Field("nosuch"); ok {
		t.Error("got a field nosuch, want none")
	}
}

func TestCompareAcrossKinds(t *testing.T) {
	order := []Value{
		{}, IntOf(-5), IntOf(0), FloatOf(0.5), DurationOf(7), UintOf(1 << 63), StrOf(""), StrOf("a"),
		ListOf(IntOf(1)), ListOf(IntOf(1), IntOf(2)),
	}
	for i := range order {
		for j := range order {
			got := order[i].Compare(order[j])
			if i < j && got >= 0 || i > j && got <= 0 || i == j && got != 0 {
				t.Errorf("compare %v with %v: got %d", order[i], order[j], got)
			}
		}
	}
}
