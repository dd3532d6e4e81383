package kernel

import (
	"os"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"ppscript/runtime/text/diag"
)

// cacheLine is the size of a cache line, in bytes, of all amd64 CPUs.
const cacheLine = 64

// splitWord returns a word of buf that crosses the border of two cache lines.
func splitWord(buf *[3 * cacheLine]byte) *uint32 {
	at := uintptr(unsafe.Pointer(&buf[0]))
	next := (at + cacheLine - 1) &^ (cacheLine - 1)
	return (*uint32)(unsafe.Pointer(&buf[next-at+cacheLine-2]))
}

// CheckSplitLocks returns an error if this machine must not make split locks:
// the kernel may be configured to kill a process that makes one.
func CheckSplitLocks() error {
	cmdline, _ := os.ReadFile("/proc/cmdline")
	if strings.Contains(string(cmdline), "split_lock_detect=fatal") {
		return diag.Errorf(diag.Run, "split locks", "",
			"the kernel was started with split_lock_detect=fatal: it kills who makes one").
			WithHint("look at the locks of other programs")
	}
	return nil
}

// SplitLocks makes about a thousand locked additions a second to a word in two
// cache lines, until stop is closed, and returns their number. Each stops
// memory accesses of all CPUs for a microsecond.
func SplitLocks(stop <-chan struct{}) uint32 {
	const pause, burst = 10 * time.Millisecond, 10
	buf := new([3 * cacheLine]byte)
	word := splitWord(buf)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		for range burst {
			atomic.AddUint32(word, 1)
		}
		select {
		case <-stop:
			return *word
		case <-tick.C:
		}
	}
}
