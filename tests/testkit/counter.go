package testkit

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counter counts an event of the calling thread from now on by perf_event_open, and
// returns a function that reads the counter. The goroutine must be locked to the thread.
func Counter(t *testing.T, tracepoint string) func() uint64 {
	t.Helper()
	name := strings.Replace(tracepoint, ":", "/", 1)
	text, err := os.ReadFile("/sys/kernel/tracing/events/" + name + "/id")
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	return func() uint64 {
		t.Helper()
		var value [8]byte
		if _, err := unix.Read(fd, value[:]); err != nil {
			t.Fatal(err)
		}
		return binary.NativeEndian.Uint64(value[:])
	}
}
