package outfile

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestNewFilesAreTheOwners(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "out")
	f, err := Open(t.Context(), path, os.O_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", st.Mode(), err)
	}
}

func TestAPipeWaitsForItsReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*readerLook)
	defer cancel()
	if f, err := Open(ctx, path, os.O_APPEND); !errors.Is(err, context.DeadlineExceeded) {
		f.Close()
		t.Fatalf("without a reader: got %v, want the deadline", err)
	}
	line := make(chan string)
	go func() {
		r, err := os.Open(path)
		if err != nil {
			line <- err.Error()
			return
		}
		defer r.Close()
		text, _ := bufio.NewReader(r).ReadString('\n')
		line <- text
	}()
	f, err := Open(t.Context(), path, os.O_APPEND)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// More than the pipe holds: the writer waits for the reader.
	go f.Write(append([]byte("results\n"), make([]byte, 1<<20)...))
	select {
	case got := <-line:
		if got != "results\n" {
			t.Errorf("got %q, want results", got)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing came through the pipe")
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	var pe *fs.PathError
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none", "out"), os.O_CREATE); !errors.As(err,
		&pe) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want that there is no such directory", err)
	}
}
