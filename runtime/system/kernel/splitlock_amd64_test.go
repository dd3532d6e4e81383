package kernel

import (
	"testing"
	"unsafe"
)

func TestSplitLocks(t *testing.T) {
	if err := CheckSplitLocks(); err != nil {
		t.Skipf("needs split locks (%v)", err)
	}
	for range 10 {
		word := uintptr(unsafe.Pointer(splitWord(new([3 * cacheLine]byte))))
		if word/cacheLine == (word+3)/cacheLine {
			t.Fatalf("the word at %#x is in one cache line", word)
		}
	}
	stop := make(chan struct{})
	close(stop)
	if n := SplitLocks(stop); n != 10 {
		t.Errorf("got %d additions, want the 10 of the first burst", n)
	}
}
