package whyfacts

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"ppscript/runtime/target/task"
)

var somewhere [1 << 16]byte

// What lies in this program is told by its file, a stack by its thread; what is nowhere has no name. Names of
// variables are told by tests/why.
func TestNamesOfPlaces(t *testing.T) {
	var p places
	defer p.close()
	pid := int32(os.Getpid())
	at := uint64(uintptr(unsafe.Pointer(&somewhere)))
	f := func(addr uint64, want string) {
		t.Helper()
		if got := p.name(pid, addr); got != want {
			t.Errorf("0x%x: got %q, want %q", addr, got, want)
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	of := " of " + exe[strings.LastIndexByte(exe, '/')+1:]
	if got := p.name(pid, at); !strings.HasSuffix(got, of) && !strings.HasPrefix(got, of[4:]+"+0x") {
		t.Errorf("got %q, want a place%s", got, of) // of tests the linker leaves symbols out
	}
	f(16, "")
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
	}
	for _, m := range task.ParseMaps(text) {
		if m.Name == "[stack]" {
			comm, _ := os.ReadFile("/proc/self/comm")
			f(m.Start+8, "stack of "+strings.TrimSpace(string(comm))+"/"+strconv.Itoa(int(pid)))
			return
		}
	}
	t.Error("got no stack in the maps of this process")
}
