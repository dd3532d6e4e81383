package matrix

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/system/kernel"

	"ppscript/tests/testkit"
)

// This file finds and creates the cgroups, threads and addresses that the ways
// need.

// A cgroup is a cgroup that the test created; "" if the machine has none for
// perf events.
type cgroup string

// newCgroup creates a cgroup. It is created before the target, and therefore
// removed after it.
func newCgroup(t *testing.T) cgroup {
	t.Helper()
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	root := mounts.PerfCgroup()
	if root == "" {
		t.Log("no cgroups for perf events: that way is left out")
		return ""
	}
	dir, err := os.MkdirTemp(root, "ppscript-matrix-")
	if err != nil {
		t.Logf("%v: cgroups are left out", err)
		return ""
	}
	t.Cleanup(func() { os.Remove(dir) })
	return cgroup(dir)
}

// take moves a process into the cgroup, and returns its name; "" if it cannot.
func (c cgroup) take(t *testing.T, pid int) string {
	t.Helper()
	if c == "" {
		return ""
	}
	if err := os.WriteFile(filepath.Join(string(c), "cgroup.procs"), []byte(strconv.Itoa(pid)),
		0); err != nil {
		t.Logf("%v: cgroups are left out", err)
		return ""
	}
	return filepath.Base(string(c))
}

// threadOf returns a thread by its name.
func threadOf(t *testing.T, pid int, comm string) int {
	t.Helper()
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	for _, f := range files {
		if text, _ := os.ReadFile(f); strings.TrimSpace(string(text)) == comm {
			tid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			if err != nil {
				t.Fatal(err)
			}
			return tid
		}
	}
	t.Fatalf("no thread %s", comm)
	return 0
}

// leftAddress returns the address of the target's function main.left, which the
// target calls a known number of times. The target is linked at fixed addresses.
func leftAddress(t *testing.T) string {
	t.Helper()
	f, err := elf.Open(testkit.Load(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name == "main.left" {
			return fmt.Sprintf("%#x", s.Value)
		}
	}
	t.Fatal("the target has no main.left")
	return ""
}

// hasOption reports that the help of a profiler has an option.
func hasOption(t *testing.T, name, option string) bool {
	t.Helper()
	return strings.Contains(testkit.Run(t, testkit.PPScript(t), name, "-h").Want(t, 0).Stdout, " "+option+" ")
}
