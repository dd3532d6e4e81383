package perf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestInstancesOfTheDeadAreRemoved: the next start removes instances that a
// killed process left in tracefs, but not instances of others and new ones.
func TestInstancesOfTheDeadAreRemoved(t *testing.T) {
	tracefs := t.TempDir() // instances are directories there, too
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	dead := c.Process.Pid
	long := time.Now().Add(-time.Minute)
	stay := map[string]bool{
		fmt.Sprintf("ppscript-%d-1", dead):        false,
		fmt.Sprintf("ppscript-%d-2", os.Getpid()): true,
		fmt.Sprintf("ppscript-%d-young", dead):    true,
		fmt.Sprintf("perf-%d-1", dead):            true,
		"ppscript-mine":                           true,
	}
	for name := range stay {
		dir := filepath.Join(tracefs, "instances", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name != fmt.Sprintf("ppscript-%d-young", dead) {
			if err := os.Chtimes(dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeInstances(tracefs)
	for name, want := range stay {
		if _, err := os.Stat(filepath.Join(tracefs, "instances", name)); (err == nil) != want {
			t.Errorf("%s: is there: %v, want %v", name, err == nil, want)
		}
	}
}
