package probe

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any ELF file with loaded segments does for /proc/kcore: ourselves.
func TestReadKernel(t *testing.T) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	image, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz < 64 {
			continue
		}
		got := make([]byte, 32)
		if err := ReadKernel("/proc/self/exe", got, p.Vaddr+16); err != nil ||
			!bytes.Equal(got, image[p.Off+16:p.Off+48]) {
			t.Errorf("segment at %#x: got % x, %v, want % x", p.Vaddr, got, err, image[p.Off+16:p.Off+48])
		}
	}
	notELF := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(notELF, []byte("no memory"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/proc/self/exe": "8 bytes there are not memory",
		"/no/such/kcore": "does not show its memory",
		notELF:           "cannot be read",
	} {
		if err := ReadKernel(path, make([]byte, 8), 0xffffffffffff0000); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}
