package task

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestScanNamesProcessesThatEndSoon(t *testing.T) {
	proc := t.TempDir()
	for pid, comm := range map[string]string{"12": "short\n", "13": "kworker/0:1-events\n", "self": "x\n"} {
		if err := os.Mkdir(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(comm), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A thread, which is there by its number although nothing lists it there.
	if err := os.MkdirAll(filepath.Join(proc, "12", "task", "15"), 0o755); err != nil {
		t.Fatal(err)
	}
	hidden := filepath.Join(proc, "15")
	if err := errors.Join(os.Mkdir(hidden, 0o755),
		os.WriteFile(filepath.Join(hidden, "comm"), []byte("worker\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	tasks := New(Options{Proc: proc})
	tasks.Scan(time.Second)
	if err := errors.Join(os.RemoveAll(filepath.Join(proc, "12")), os.RemoveAll(hidden)); err != nil {
		t.Fatal(err)
	}
	for tid, want := range map[int32]string{12: "short", 15: "worker", 13: "kworker/0:1", 14: "pid-14"} {
		if got := tasks.Comm(tid); got != want {
			t.Errorf("thread %d: got %s, want %s", tid, got, want)
		}
	}
}
