package kernel

import "testing"

func TestSyscallNames(t *testing.T) {
	for _, c := range []struct {
		arch, name string
		nr         int64
	}{{"amd64", "read", 0}, {"amd64", "getppid", 110}, {"amd64", "exit_group", 231},
		{"amd64", "openat2", 437},
		{"arm64", "read", 63}, {"arm64", "getppid", 173}, {"arm64", "exit_group", 94}} {
		if got := SyscallName(c.arch, c.nr); got != c.name {
			t.Errorf("%s %d: got %q, want %q", c.arch, c.nr, got, c.name)
		}
		if got, ok := SyscallNumber(c.arch, c.name); !ok || got != c.nr {
			t.Errorf("%s %s: got %d (%v), want %d", c.arch, c.name, got, ok, c.nr)
		}
	}
	for _, nr := range []int64{-1, 100000} {
		if got := SyscallName("amd64", nr); got != "" {
			t.Errorf("%d: got %q, want none", nr, got)
		}
	}
}
