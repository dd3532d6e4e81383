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
		}, st, st, st),
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
