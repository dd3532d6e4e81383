package symbol

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/target/task"
)

//go:noinline
func marker() uint64 {
	pc, _, _, _ := runtime.Caller(0)
	return uint64(pc)
}

// A test binary names its own functions, through /proc/PID/maps.
func TestOwnFunctions(t *testing.T) {
	maps := task.NewMappings(task.MappingsOptions{})
	defer maps.Close()
	s := New(Options{Maps: maps})
	pid := int32(os.Getpid())
	start := uint64(reflect.ValueOf(marker).Pointer())
	for _, addr := range []uint64{start, start + 3, marker()} {
		f := s.Resolve(pid, pid, addr, event.MaxTime)
		exe, _ := os.Readlink("/proc/self/exe")
		const marker = "ppscript/runtime/stack/symbol.marker"
		if len(f) != 1 || f[0].Symbol != marker || f[0].Offset != addr-start ||
			f[0].DSO != exe || f[0].Kernel {
			t.Errorf("%#x: got %+v, want marker+%#x", addr, f, addr-start)
		}
	}
}
