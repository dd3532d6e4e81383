package dso

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// mapText maps the begin of an opened file, to be executed, and returns the mapping as /proc tells it.
func mapText(t *testing.T, fd int) Mapping {
	t.Helper()
	size := os.Getpagesize()
	at, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(at) })
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		words := strings.SplitN(strings.TrimSpace(line), " ", 6)
		from, to, _ := strings.Cut(words[0], "-")
		start, _ := strconv.ParseUint(from, 16, 64)
		end, _ := strconv.ParseUint(to, 16, 64)
		if len(words) == 6 && words[1] == "r-xp" && words[4] == strconv.FormatUint(st.Ino, 10) {
			return Mapping{PID: int32(os.Getpid()), Start: start, End: end, Path: strings.TrimSpace(words[5]),
				ID: ID{Maj: unix.Major(uint64(st.Dev)), Min: unix.Minor(uint64(st.Dev)), Ino: st.Ino}}
		}
	}
	t.Fatal("the mapping is not told")
	return Mapping{}
}

// TestProgramsInMemory checks that programs in memory, below /dev/shm and in a memfd, are found;
// code that a compiler put there is none of a file. A file may really be called "x (deleted)".
func TestProgramsInMemory(t *testing.T) {
	testkit.Requires(t, testkit.Root)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	code := make([]byte, len(program))
	memfd := func(content []byte) int {
		fd, err := unix.MemfdCreate("counted", 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		if _, err := unix.Write(fd, content); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	file := func(dir, name string, content []byte) int {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close(); os.Remove(path) })
		return int(f.Fd())
	}
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("there is no /dev/shm")
	}
	shm, err := os.MkdirTemp("/dev/shm", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	odd := file(t.TempDir(), "x (deleted)", program)
	f := func(what string, fd int, found bool, suffix string) {
		t.Helper()
		store := NewStore(Options{})
		defer store.Close()
		m := mapText(t, fd)
		for range 2 { // the second time by what the store knows
			got := store.Find(m)
			if !found {
				if got != nil {
					t.Errorf("%s: got %s, want no file", what, got.Path)
				}
				continue
			}
			if got == nil || !got.Opened() {
				t.Errorf("%s at %s: got %+v, want it opened", what, m.Path, got)
				continue
			}
			if im, err := got.Image(); err != nil || !im.HasSymbols() && im.Section(".text") == nil {
				t.Errorf("%s: got image %v, %v", what, im, err)
			}
			if !strings.HasSuffix(got.Name(), suffix) {
				t.Errorf("%s: got name %s, want it to end in %q", what, got.Name(), suffix)
			}
		}
	}
	f("a program in a memfd", memfd(program), true, "/memfd:counted")
	f("code in a memfd", memfd(code), false, "")
	f("a program in /dev/shm", file(shm, "program", program), true, "program")
	f("code in /dev/shm", file(shm, "code", code), false, "")
	f("a file that is called so", odd, true, "x (deleted)")
}
