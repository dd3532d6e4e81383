package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"ppscript/runtime/system/kernel"
)

func TestOfThread(t *testing.T) {
	proc := t.TempDir()
	f := func(text, cpu, container, unit string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(proc, "7"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, "7", "cgroup"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, facts, ok := OfThread(kernel.Roots{Proc: proc}, 7)
		if !ok || got != cpu || facts.Container != container || facts.Unit != unit {
			t.Errorf("%q: got %q, %+v", text, got, facts)
		}
	}
	f("0::/system.slice/cron.service\n", "/system.slice/cron.service", "", "cron.service")
	f("9:name=systemd:/system.slice/cron.service\n4:memory:/x\n2:cpu,cpuacct:/a/b\n0::/\n",
		"/a/b", "", "cron.service")
	f("2:cpu:/\n1:name=systemd:/\n", "/", "", "")
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const docker = "/system.slice/docker-" + id + ".scope"
	f("0::"+docker+"\n", docker, id, filepath.Base(docker))
	if _, _, ok := OfThread(kernel.Roots{Proc: proc}, 8); ok {
		t.Error("a thread that has ended: got a cgroup")
	}
}

// What is limited is so by a cgroup above it too, and holds threads where its cpu.stat says so, or says
// nothing.
func TestQuotaOf(t *testing.T) {
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
	write("a/cpu.stat", "usage_usec 7\nnr_periods 12\nnr_throttled 3\nthrottled_usec 9\n")
	write("cpu/e/cpu.stat", "nr_periods 12\nnr_throttled 0\nthrottled_time 0\n")
	write("cpu/g/cpu.cfs_quota_us", "50000\n")
	f := func(cgroup string, limited, held bool) {
		t.Helper()
		if got := QuotaOf(kernel.Roots{Sys: sys}, cgroup); got != (Quota{limited, held}) {
			t.Errorf("%s: got %+v, want limited %v, held %v", cgroup, got, limited, held)
		}
	}
	f("/a", true, true)
	f("/a/b", true, true) // by the one above it
	f("/a/b/gone", true, true)
	f("/c", false, false)
	f("/d", false, false)
	f("/e", true, false)
	f("/g", true, true)
	f("/", false, false)
	f("", false, false)
}

func TestAnyQuota(t *testing.T) {
	sys := t.TempDir()
	put := func(file, text string) {
		t.Helper()
		file = filepath.Join(sys, "fs/cgroup", file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(want bool) {
		t.Helper()
		if got := AnyQuota(kernel.Roots{Sys: sys}); got != want {
			t.Errorf("got a quota %v, want %v", got, want)
		}
	}
	want(false)
	put("a/cpu.max", "max 100000\n")
	put("cpu/a/cpu.cfs_quota_us", "-1\n")
	want(false)
	put("cpu/a/b/cpu.cfs_quota_us", "20000\n")
	want(true)
	put("cpu/a/b/cpu.cfs_quota_us", "-1\n")
	put("a/b/c/cpu.max", "20000 100000\n")
	want(true)
}
