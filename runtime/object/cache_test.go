package object

import "testing"

// What is asked for stays, whatever comes and goes.
func TestCacheIsBounded(t *testing.T) {
	c := NewCache[int](1000)
	always := &File{Path: "libc"}
	c.Hold(always, -1, 300)
	var last *File
	for i := range 10_000 {
		last = &File{}
		c.Hold(last, i, 90)
		if v, ok := c.Of(always); !ok || v != -1 {
			t.Fatalf("after %d others: got %d, %v, want what is asked for all the time", i, v, ok)
		}
	}
	if c.Len() != 8 || c.Bytes() != 300+7*90 || c.Dropped() != 9993 {
		t.Errorf("got %d files, %d bytes, %d dropped; want 8, 930, 9993", c.Len(), c.Bytes(), c.Dropped())
	}
	if v, ok := c.Of(last); !ok || v != 9999 {
		t.Errorf("the last: got %d, %v, want 9999", v, ok)
	}
	// One that is too large is alone, and gives way.
	c.Hold(&File{}, 1, 5000)
	if c.Len() != 1 || c.Bytes() != 5000 {
		t.Errorf("got %d files, %d bytes, want the large one", c.Len(), c.Bytes())
	}
	c.Hold(&File{}, 2, 10)
	if c.Len() != 1 || c.Bytes() != 10 {
		t.Errorf("got %d files, %d bytes, want the small one", c.Len(), c.Bytes())
	}
}
