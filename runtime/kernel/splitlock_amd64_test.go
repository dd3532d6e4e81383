package kernel

import (
	"testing"
	"unsafe"

	"ppscript/tests/testkit"
)

func TestSplitLocks(t *testing.T) {
	testkit.Requires(t, testkit.Optional("split locks", CheckSplitLocks()))
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
