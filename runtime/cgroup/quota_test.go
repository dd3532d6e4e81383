package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"ppscript/runtime/kernel"
)

func TestHasQuota(t *testing.T) {
	sys := t.TempDir()
	write := func(file, text string) {
		file = filepath.Join(sys, "fs/cgroup", file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a/cpu.max", "20000 100000\n")
	write("a/b/cpu.max", "max 100000\n")
	write("c/cpu.max", "max 100000\n")
	write("cpu,cpuacct/d/cpu.cfs_quota_us", "-1\n")
	write("cpu/e/cpu.cfs_quota_us", "50000\n")
	f := func(cgroup string, want bool) {
		t.Helper()
		if got := HasQuota(kernel.Roots{Sys: sys}, cgroup); got != want {
			t.Errorf("%s: got %v, want %v", cgroup, got, want)
		}
	}
	f("/a", true)
	f("/a/b", true) // by the one above it
	f("/a/b/gone", true)
	f("/c", false)
	f("/d", false)
	f("/e", true)
	f("/", false)
	f("", false)
}
