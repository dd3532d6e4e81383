package testkit

import (
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// untouchedApart is the distance of pages that the kernel does not read together.
const untouchedApart = 64 << 10

// UntouchedTexts maps a file with n texts, each in a page that is not in memory. Their
// addresses stay valid until the test ends; at the end of each text is a NUL.
func UntouchedTexts(t *testing.T, n int, text func(i int) string) []uintptr {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "texts"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range n {
		if _, err := file.WriteAt([]byte(text(i)+"\x00"), int64(i)*untouchedApart); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Truncate(int64(n) * untouchedApart); err != nil {
		t.Fatal(err)
	}
	texts, err := unix.Mmap(int(file.Fd()), 0, n*untouchedApart, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(texts) })
	at := make([]uintptr, n)
	for i := range at {
		at[i] = uintptr(unsafe.Pointer(&texts[i*untouchedApart]))
	}
	return at
}

// Touch makes the kernel read the page of a text, as a system call that reads the text does, and
// returns its first byte.
func Touch(t *testing.T, at uintptr) byte {
	t.Helper()
	var b [1]byte
	n, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{{Base: &b[0], Len: 1}},
		[]unix.RemoteIovec{{Base: at, Len: 1}}, 0)
	if err != nil || n != 1 {
		t.Fatalf("read memory of this process: got %d bytes, %v", n, err)
	}
	return b[0]
}
