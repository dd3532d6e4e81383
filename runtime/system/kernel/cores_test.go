package kernel

import (
	"fmt"
	"testing"
)

func TestCores(t *testing.T) {
	f := func(want string, online string, siblings map[int]string) {
		t.Helper()
		dir := t.TempDir()
		for _, name := range []string{"online", "present", "possible"} {
			write(t, dir, "devices/system/cpu/"+name, online+"\n")
		}
		for cpu, list := range siblings {
			write(t, dir, fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu),
				list+"\n")
		}
		cores, err := ReadCores(Roots{Sys: dir})
		if got := fmt.Sprint(cores); err != nil || got != want {
			t.Errorf("%v: got %s, %v, want %s", siblings, got, err, want)
		}
	}
	f("[[0 2] [1 3]]", "0-3", map[int]string{0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"})
	f("[[0 1] [2]]", "0-2", map[int]string{0: "0-1", 1: "0-1", 2: "2"})
	f("[[0] [1]]", "0-1", map[int]string{0: "0", 1: "1"})
	f("[[0] [1]]", "0-1", nil)
	// The kernel leaves a sibling out that is offline.
	f("[[0] [1 3]]", "0-1,3", map[int]string{0: "0", 1: "1,3", 3: "1,3"})

	if _, err := ReadCores(Roots{Sys: t.TempDir()}); err == nil {
		t.Error("no CPUs: got no error")
	}
}
