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

// This file finds and makes what the ways need of the machine.

// A cgroup is one of the test's own; "" where there are none for perf events.
type cgroup string

// newCgroup makes one. It is made before the target, and so removed after it.
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

// threadOf is a thread by its name.
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

// leftAddress is where the target has its function main.left, which it makes the
// known number of calls of. It is linked at fixed addresses.
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
