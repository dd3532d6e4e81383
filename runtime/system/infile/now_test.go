package infile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe that nobody writes to is an error, soon; one with a writer is read to its end, whenever that
// writes.
func TestPipesWithoutWriterAreNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if _, err := Read(pipe, 100); !errors.Is(err, ErrNoWriter) {
		t.Errorf("got %v, want that nobody writes to it", err)
	}
	if took := time.Since(begin); took > 20*writerTime {
		t.Errorf("it took %s", took)
	}
	both, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenNow(pipe) // which is empty
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		b := make([]byte, 10)
		n, _ := f.Read(b)
		got <- string(b[:n])
	}()
	if _, err := both.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "late" {
		t.Errorf("got %q, want late", text)
	}
	f.Close()
	if _, err := both.WriteString("there"); err != nil {
		t.Fatal(err)
	}
	if f, err = OpenNow(pipe); err != nil {
		t.Fatal(err)
	}
	both.Close()
	b := make([]byte, 10)
	if n, err := f.Read(b); string(b[:n]) != "there" {
		t.Errorf("got %q, %v: what was written before is taken out", b[:n], err)
	}
	f.Close()
}

func TestReadIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, make([]byte, 101), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file, 100); err == nil {
		t.Error("a longer file is taken")
	}
	if b, err := Read(file, 101); err != nil || len(b) != 101 {
		t.Errorf("got %d bytes, %v", len(b), err)
	}
	if _, err := Read("/dev/zero", 100); err == nil {
		t.Error("a device without an end is taken")
	}
}
