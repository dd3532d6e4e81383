package key

import (
	"fmt"
	"testing"

	"ppscript/runtime/system/memory"
)

// A table that has no more memory refuses new keys, finds the keys that it has, takes as many as it
// had after a Reset, and grows again when others gave memory back.
func TestTablesKeepToMemory(t *testing.T) {
	budget := memory.New(1)
	other := budget.Part("other") // all but 600 KiB
	all := int64(0)
	for other.Hold(all + 1<<10) {
		all += 1 << 10
	}
	ints, texts := NewInts(0), NewTexts(0)
	ints.Bound(budget.Part("ints"), 100)
	texts.Bound(budget.Part("texts"), 100)
	fill := func(insert func(i int) int32) (n int) {
		for n = range 1 << 20 {
			if insert(n) == None {
				return n
			}
		}
		t.Fatal("the table has no bound")
		return n
	}
	number := func(i int) int32 { r, _ := ints.Insert(int64(i)); return r }
	text := func(i int) int32 { r, _ := texts.Insert(fmt.Appendf(nil, "%0100d", i)); return r }
	other.Must(all - 600<<10)
	n := fill(number)
	if bytes := n * (100 + intBytes); n < leastKeys || bytes > 700<<10 || bytes < 400<<10 {
		t.Errorf("got %d keys, want those of 600 KiB", n)
	}
	other.Must(all)
	if number(n-1) == None || number(n) != None {
		t.Error("a full table does not find what it has")
	}
	if m := fill(text); m != leastKeys {
		t.Errorf("got %d texts without memory, want %d", m, leastKeys)
	}
	other.Hold(0)
	if number(n) == None {
		t.Error("the table does not grow again")
	}
	ints.Reset()
	if m := fill(number); m < n {
		t.Errorf("got %d keys after a reset, want %d", m, n)
	}
	other.Must(all)
	if texts.Delete(fmt.Appendf(nil, "%0100d", 3)) == None || text(1<<20) == None || text(1<<21) != None {
		t.Error("the place of a deleted key is not that of another")
	}
}
