package infile

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string, most int64) *File {
	t.Helper()
	f, err := Open(path, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// A pipe without a writer is waited for until the run ends.
func TestPipeWithoutWriter(t *testing.T) {
	f := open(t, pipe(t), 100)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	var b bytes.Buffer
	if err := f.CopyTo(ctx, &b); !errors.Is(err, context.DeadlineExceeded) || b.Len() > 0 {
		t.Errorf("got %q, %v; want nothing, and that the time is over", b.String(), err)
	}
	if f.Regular() {
		t.Error("got a regular file, want a pipe")
	}
}

// TestPipeIsReadOn checks that bytes from before the end of the first call are not lost to the
// second.
func TestPipeIsReadOn(t *testing.T) {
	path := pipe(t)
	f := open(t, path, 100)
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("one "); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := f.CopyTo(ctx, &b); !errors.Is(err, context.DeadlineExceeded) || b.String() != "one " {
		t.Fatalf("got %q, %v; want what was written, and that the time is over", b.String(), err)
	}
	if _, err := w.WriteString("two"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := f.CopyTo(context.Background(), &b); err != nil || b.String() != "one two" {
		t.Errorf("got %q, %v; want all", b.String(), err)
	}
}

func TestBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(strings.Repeat("x", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	f := func(path string, most int64, large bool) {
		t.Helper()
		var b bytes.Buffer
		var e *tooLarge
		if err := open(t, path, most).CopyTo(context.Background(), &b); errors.As(err, &e) != large ||
			int64(b.Len()) > most {
			t.Errorf("%s, at most %d: got %d bytes, error %v; want too large: %t", path, most, b.Len(),
				err, large)
		}
	}
	f(path, 200_000, false)
	f(path, 199_999, true)
	f("/dev/zero", 1<<20, true)
	if _, err := Open(filepath.Dir(path), 1); !errors.Is(err, unix.EISDIR) {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := Open(path+"x", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}
