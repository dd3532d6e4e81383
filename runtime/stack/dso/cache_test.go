package dso

import (
	"testing"

	"ppscript/runtime/event"
)

// An entry in use stays while others come and go.
func TestCacheIsBounded(t *testing.T) {
	c := NewCache[*File, int](NewMemory(1000), 1000)
	always := &File{Path: "libc"}
	c.Hold(always, -1, 300, 0)
	var last *File
	for i := range 10_000 {
		last = &File{}
		c.Hold(last, i, 90, 0)
		if v, ok := c.Of(always, 0); !ok || v != -1 {
			t.Fatalf("after %d others: got %d, %v, want what is asked for all the time", i, v, ok)
		}
	}
	if c.Len() != 8 || c.Bytes() != 300+7*90 || c.Dropped() != 9993 {
		t.Errorf("got %d files, %d bytes, %d dropped; want 8, 930, 9993", c.Len(), c.Bytes(), c.Dropped())
	}
	if v, ok := c.Of(last, 0); !ok || v != 9999 {
		t.Errorf("the last: got %d, %v, want 9999", v, ok)
	}
	// One that is too large is alone, and gives way.
	c.Hold(&File{}, 1, 5000, 0)
	if c.Len() != 1 || c.Bytes() != 5000 {
		t.Errorf("got %d files, %d bytes, want the large one", c.Len(), c.Bytes())
	}
	c.Hold(&File{}, 2, 10, 0)
	if c.Len() != 1 || c.Bytes() != 10 {
		t.Errorf("got %d files, %d bytes, want the small one", c.Len(), c.Bytes())
	}
}

// Of ever new files nothing stays, of those that are used now and then as much
// as is of use.
func TestCacheForgetsWhatIsIdle(t *testing.T) {
	const second = event.Time(1e9)
	c := NewCache[*File, int](NewMemory(1_000_000), 500)
	now := event.Time(0)
	made := map[*File]int{}
	use := func(f *File) {
		if _, ok := c.Of(f, now); !ok {
			c.Hold(f, 0, 100, now)
			made[f]++
		}
	}
	always, each, seldom, late := &File{Path: "libc"}, &File{Path: "cron"}, &File{Path: "backup"},
		&File{Path: "late"}
	most := 0
	for i := range 3600 {
		now = event.Time(i) * second
		use(always)
		if i%10 == 0 {
			use(each)
		}
		if i%1000 == 0 {
			use(seldom)
		}
		use(&File{})
		c.Of(late, now-second) // an event of before changes nothing
		most = max(most, c.Bytes())
	}
	if most > 1000 || made[always] != 1 || made[each] > 4 || made[seldom] != 4 {
		t.Errorf("got up to %d bytes, files made %d, %d and %d times; want at most 1000, once, up to 4, 4 times",
			most, made[always], made[each], made[seldom])
	}
	if len(c.before) > mostBefore || c.Len()*100 != c.Bytes() || int(c.Dropped()) < 3500 {
		t.Errorf("got %d files that went, %d of %d bytes, %d dropped", len(c.before), c.Len(), c.Bytes(),
			c.Dropped())
	}
	// Nor is an entry that was in use for long kept for as long.
	old := NewCache[*File, int](NewMemory(1_000_000), 500)
	for i := range 600 {
		for range 10 {
			now += second
			if f := (&File{}); i%60 == 0 {
				old.Hold(f, 0, 100, now)
			} else {
				for held := range old.at {
					old.Of(held, now)
				}
			}
		}
	}
	for i := range 20 {
		now += second
		old.Hold(&File{}, i, 100, now)
	}
	if old.Bytes() > 1000 {
		t.Errorf("got %d bytes 20 s after files were used for minutes, want at most 1000", old.Bytes())
	}
	// A little stays however long it lies there.
	few, f := NewCache[*File, int](NewMemory(1000), 500), &File{}
	few.Hold(f, 7, 100, 0)
	few.Hold(&File{}, 0, 400, 1e18)
	if v, ok := few.Of(f, 2e18); !ok || v != 7 {
		t.Errorf("got %d, %v, want what there was room for", v, ok)
	}
}

// TestCachesShareABound checks that several kinds share one bound: what was used least recently
// goes, of whichever kind it is; what is idle goes of kinds that take much.
func TestCachesShareABound(t *testing.T) {
	m := NewMemory(1000)
	tables, lines := NewCache[*File, int](m, 300), NewCache[string, int](m, 1000)
	old, fresh := &File{}, &File{}
	tables.Hold(old, 1, 300, 0)
	lines.Hold("a", 2, 300, 1)
	tables.Hold(fresh, 3, 300, 2)
	f := func(when string, nTables, nLines, bytes int) {
		t.Helper()
		if tables.Len() != nTables || lines.Len() != nLines || m.Bytes() != bytes ||
			tables.Bytes()+lines.Bytes() != bytes {
			t.Errorf("%s: got %d and %d of %d and %d bytes, %d in all; want %d and %d of %d", when,
				tables.Len(), lines.Len(), tables.Bytes(), lines.Bytes(), m.Bytes(), nTables, nLines, bytes)
		}
	}
	f("room for all", 2, 1, 900)
	lines.Hold("b", 4, 300, 3)
	if _, ok := tables.Of(old, 3); ok {
		t.Error("got what was used least recently, want it to give way to another kind")
	}
	f("full", 1, 2, 900)
	lines.Hold("c", 5, 50, 1e12) // all are idle: of tables there is little, of lines too
	f("idle, but little", 1, 3, 950)
	tables.Hold(old, 6, 50, 1e12)
	f("idle and more than little", 1, 3, 700)
	lines.Drop("a")
	lines.Drop("a")
	f("one is dropped", 1, 2, 400)
	lines.Hold("d", 7, 10, 1e12)
	lines.Trim(1)
	if _, ok := lines.Of("d", 1e12); !ok {
		t.Error("got the last one trimmed, want the others")
	}
	f("trimmed", 1, 1, 60)
	lines.Clear()
	f("cleared", 1, 0, 50)
}

func BenchmarkCacheOf(b *testing.B) {
	c := NewCache[*File, int](NewMemory(1<<20), 1<<20)
	files := make([]*File, 16)
	for i := range files {
		files[i] = &File{}
		c.Hold(files[i], i, 100, 0)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := c.Of(files[i%16], 1); !ok {
			b.Fatal("nothing is held")
		}
	}
}
