package kernel

import (
	"reflect"
	"testing"
)

func TestSyscallParams(t *testing.T) {
	f := func(arch, name string, want ...Param) {
		t.Helper()
		got, ok := SyscallParams(arch, name)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %s: got %v %v, want %v", arch, name, got, ok, want)
		}
	}
	f("amd64", "openat", Param{"dfd", "int"}, Param{"filename", "const char *"}, Param{"flags", "int"},
		Param{"mode", "umode_t"})
	f("amd64", "getpid")
	// Two arguments of clone are the other way round.
	clone, _ := SyscallParams("amd64", "clone")
	other, _ := SyscallParams("arm64", "clone")
	if clone[3].Name != "child_tidptr" || other[3].Name != "tls" || clone[4] != other[3] ||
		clone[3] != other[4] {
		t.Errorf("clone: got %v and %v", clone, other)
	}
	if _, ok := SyscallParams("amd64", "nosuch"); ok {
		t.Error("nosuch: got parameters")
	}
	// Nearly all calls that have a number are known; the others were removed
	// long ago, or have no event.
	for arch, most := range map[string]int{"amd64": 26, "arm64": 9} {
		var unknown []string
		for _, name := range SyscallNames(arch) {
			if _, ok := SyscallParams(arch, name); !ok && name != "" {
				unknown = append(unknown, name)
			}
		}
		if len(unknown) > most {
			t.Errorf("%s: got %d calls without parameters, want at most %d: %v", arch,
				len(unknown), most, unknown)
		}
	}
}
