package testkit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// LoopDevice makes a disk of 16 MiB for the test, with an I/O scheduler, and
// returns its path and its name in /dev.
func LoopDevice(t testing.TB, scheduler string) (path, name string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 16<<20); err != nil {
		t.Fatal(err)
	}
	Requires(t, Losetup)
	out := Run(t, "losetup", "--show", "-f", file)
	Requires(t, Core("a loop device", out.Err()))
	path = strings.TrimSpace(out.Stdout)
	// It is detached while it is open, so it disappears when the last process closes it,
	// also if this test is killed.
	open, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { open.Close() })
	Run(t, "losetup", "-d", path).Want(t, 0)
	name = filepath.Base(path)
	err = os.WriteFile("/sys/block/"+name+"/queue/scheduler", []byte(scheduler), 0)
	Requires(t, Core("the I/O scheduler "+scheduler, err))
	return path, name
}
