package outfile

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"ppscript/tests/testkit"
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

// TestOthersChooseNoFile checks that another user cannot choose where results go: neither by a
// link, wherever it is in the path, nor by a file that was there before.
func TestOthersChooseNoFile(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	const nobody = 65534
	base := t.TempDir()
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	shared, secret := filepath.Join(base, "shared"), filepath.Join(base, "secret")
	f := func(refused bool, prepare func(path string) error) {
		t.Helper()
		os.RemoveAll(shared)
		err := errors.Join(os.MkdirAll(shared, 0o755), os.Chmod(shared, 0o777|fs.ModeSticky),
			os.MkdirAll(secret, 0o700), os.WriteFile(secret+"/x", []byte("kept"), 0o600))
		path := filepath.Join(shared, "dir/x")
		if err = errors.Join(err, prepare(filepath.Join(shared, "dir"))); err != nil {
			t.Fatal(err)
		}
		out, err := Open(t.Context(), path, os.O_CREATE|os.O_TRUNC)
		if errors.Is(err, fs.ErrPermission) != refused || err != nil && !refused {
			t.Errorf("got %v, want refused: %v", err, refused)
		}
		if err == nil {
			out.Close()
		}
		text, err := os.ReadFile(secret + "/x")
		if kept := string(text) == "kept"; kept != refused || err != nil {
			t.Errorf("the file that is not theirs: got %q, %v, want it kept: %v", text, err, refused)
		}
	}
	link := func(uid int, to, from string) error {
		return errors.Join(os.Symlink(to, from), os.Lchown(from, uid, uid))
	}
	f(true, func(dir string) error { return link(nobody, secret, dir) })
	f(false, func(dir string) error { return link(0, secret, dir) })
	f(false, func(dir string) error { return link(0, "../secret", dir) })
	f(true, func(dir string) error { // behind a link of ours
		return errors.Join(link(0, "other", dir), link(nobody, secret, shared+"/other"))
	})
	f(true, func(dir string) error { // the last component
		return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|fs.ModeSticky),
			link(nobody, secret+"/x", dir+"/x"))
	})
	f(true, func(dir string) error { // another name of it
		return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|fs.ModeSticky),
			os.Link(secret+"/x", dir+"/x"))
	})
	f(true, func(dir string) error { // a file, not a link
		return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777|fs.ModeSticky),
			os.WriteFile(dir+"/x", nil, 0o666), os.Lchown(dir+"/x", nobody, nobody))
	})
}

func TestPathsThatOpen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	err = errors.Join(os.MkdirAll("a/b", 0o700), os.Symlink("b/../b", "a/l"), os.Symlink("loop", "loop"),
		os.Symlink("a//", "slash"), os.WriteFile("a/b/old", []byte("old"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"x", "./x", "a/x", "a/l/x", "a//b/x", "slash/x", dir + "/a/l/y", "/dev/null", "a/b/../../z",
		"../" + filepath.Base(dir) + "/q", fmt.Sprintf("/dev/fd/%d", w.Fd()),
		fmt.Sprintf("/proc/self/fd/%d", w.Fd()), "a/l/old",
	} {
		f, err := OpenNow(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if st, err := os.Stat(path); err != nil || st.Size() != 0 {
			t.Errorf("%s: got %v, %v, want an empty file", path, st, err)
		}
		f.Close()
	}
	for path, want := range map[string]error{
		"": fs.ErrNotExist, "none/x": fs.ErrNotExist, "loop": syscall.ELOOP, "loop/x": syscall.ELOOP,
		"a": syscall.EISDIR, "a/b/old/x": syscall.ENOTDIR, "x/": syscall.ENOTDIR,
	} {
		if f, err := OpenNow(path, os.O_WRONLY|os.O_CREATE); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", path, err, want)
			f.Close()
		}
	}
}
