package key

import (
	"fmt"
	"math/rand"
	"testing"
)

// TestAgainstMap drives both tables and a Go map with the same random
// insertions and deletions, over few keys so that chains form and break.
func TestAgainstMap(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	ints, texts := NewInts(0), NewTexts(0)
	want := map[int64]int32{}
	for step := range 200000 {
		k := int64(r.Intn(900)) << (step % 40)
		b := []byte(fmt.Sprint(k))
		row, there := want[k]
		if r.Intn(3) == 0 {
			gotI, gotT := ints.Delete(k), texts.Delete(b)
			if there != (gotI >= 0) || there != (gotT >= 0) || there && gotI != row {
				t.Fatalf("step %d: delete %d: got rows %d and %d, want %d (there %v)", step, k,
					gotI, gotT, row, there)
			}
			delete(want, k)
			continue
		}
		gotI, freshI := ints.Insert(k)
		gotT, freshT := texts.Insert(b)
		if freshI == there || freshT == there || there && gotI != row {
			t.Fatalf("step %d: insert %d: got rows %d, %d fresh %v, %v; want row %d there %v", step, k, gotI,
				gotT, freshI, freshT, row, there)
		}
		if string(texts.Key(gotT)) != string(b) {
			t.Fatalf("step %d: got key %q, want %q", step, texts.Key(gotT), b)
		}
		want[k] = gotI
	}
	if ints.Len() != len(want) || texts.Len() != len(want) {
		t.Fatalf("got %d and %d keys, want %d", ints.Len(), texts.Len(), len(want))
	}
	seen := 0
	ints.Each(func(k int64, row int32) {
		if want[k] != row {
			t.Errorf("key %d: got row %d, want %d", k, row, want[k])
		}
		seen++
	})
	if seen != len(want) || ints.Rows() > 36000 {
		t.Errorf("got %d keys in %d rows, want %d", seen, ints.Rows(), len(want))
	}
}

func TestLimitRefuses(t *testing.T) {
	ints, texts := NewInts(2), NewTexts(2)
	for k := range int64(2) {
		ints.Insert(k)
		texts.Insert([]byte{byte(k)})
	}
	if row, _ := ints.Insert(7); row != None {
		t.Errorf("ints: got row %d beyond the limit, want None", row)
	}
	if row, _ := texts.Insert([]byte{7}); row != None {
		t.Errorf("texts: got row %d beyond the limit, want None", row)
	}
	if row, fresh := ints.Insert(1); row != 1 || fresh {
		t.Errorf("got row %d fresh %v for an old key at the limit, want 1 false", row, fresh)
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	ints, texts := NewInts(0), NewTexts(0)
	b := make([]byte, 8)
	cycle := func() {
		for k := range 1000 {
			ints.Insert(int64(k * 4096))
			b[0], b[1] = byte(k), byte(k>>8)
			texts.Insert(b)
		}
		for k := range 1000 {
			ints.Delete(int64(k * 4096))
			b[0], b[1] = byte(k), byte(k>>8)
			texts.Delete(b)
		}
	}
	cycle()
	if n := testing.AllocsPerRun(20, cycle); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, keys := range []int64{1, 100, 10000, 1000000} {
		b.Run(fmt.Sprintf("ints/keys=%d", keys), func(b *testing.B) {
			t := NewInts(0)
			b.ReportAllocs()
			for i := range int64(b.N) {
				t.Insert(i * 7919 % keys)
			}
		})
		b.Run(fmt.Sprintf("texts/keys=%d", keys), func(b *testing.B) {
			t := NewTexts(0)
			var k [16]byte
			b.ReportAllocs()
			for i := range int64(b.N) {
				v := i * 7919 % keys
				k[0], k[1], k[2] = byte(v), byte(v>>8), byte(v>>16)
				t.Insert(k[:])
			}
		})
	}
}
