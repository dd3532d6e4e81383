package vm

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestModuleOrder(t *testing.T) {
	x := parseModuleIndex("kernel/kvm-amd.ko.xz: kernel/ccp.ko.xz kernel/kvm.ko.xz kernel/irqbypass.ko.xz\n"+
		"kernel/kvm.ko.xz: kernel/irqbypass.ko.xz\nkernel/irqbypass.ko.xz:\nkernel/ccp.ko.xz:\n",
		"kernel/drivers/virtio/virtio_pci.ko\n")
	var files []string
	var err error
	for _, name := range []string{"virtio-pci", "kvm", "kvm_amd"} {
		if files, err = x.resolve(files, name); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"kernel/irqbypass.ko.xz", "kernel/kvm.ko.xz", "kernel/ccp.ko.xz", "kernel/kvm-amd.ko.xz"}
	if !slices.Equal(files, want) {
		t.Errorf("got %v, want %v", files, want)
	}
	if _, err := x.resolve(nil, "nvidia"); err == nil {
		t.Error("unknown module: got no error")
	}
}

func TestCpio(t *testing.T) {
	var b bytes.Buffer
	w := newCpio(&b)
	w.file("a/b/c", 0o755, []byte("hello"))
	w.file("a/b/c", 0o644, []byte("second"))
	w.dir("a")
	if err := w.close(); err != nil {
		t.Fatal(err)
	}
	if b.Len()%4 != 0 {
		t.Errorf("got %d bytes, want a multiple of 4", b.Len())
	}
	if n := strings.Count(b.String(), "070701"); n != 4 {
		t.Errorf("got %d entries, want a, a/b, a/b/c and the trailer", n)
	}
	if !strings.Contains(b.String(), "hello\x00\x00\x00070701") || strings.Contains(b.String(), "second") {
		t.Errorf("got %q", b.String())
	}
	w = newCpio(&b)
	w.copy("x", filepath.Join(t.TempDir(), "missing"))
	if err := w.close(); err == nil {
		t.Error("missing file: got no error")
	}
}

// Guests wait for memory, but one that is alone does not.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory{free: func() int { return 4000 }}
		large := m.take(5000)
		var running, most atomic.Int32
		for range 5 {
			go func() {
				defer m.take(1000)()
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(time.Second)
				running.Add(-1)
			}()
		}
		synctest.Wait()
		if n := running.Load(); n != 0 {
			t.Errorf("got %d guests beside one that takes all, want none", n)
		}
		large()
		time.Sleep(10 * time.Second)
		if n := most.Load(); n != 3 || m.used != 0 {
			t.Errorf("got %d guests at once and %d MiB left taken, want 3 and 0", n, m.used)
		}
	})
	if n := availableMiB(); n < 16 || n > 1<<30 {
		t.Errorf("got %d MiB of memory", n)
	}
}

// A complete run of a guest: output with every byte value, the exit status, a
// file.
func TestGuest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, []byte("\x00\xff\r\n\x04 end"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := Run(t, Guest{Files: map[string]string{"/w/data": file}},
		"uname -r >&2; cat data; test -d /sys/kernel/tracing/events; id -u; exit 7")
	release, rest, _ := strings.Cut(string(r.Output), "\n")
	if r.Status != 7 || !strings.HasPrefix(release, "6.1.") || rest != "\x00\xff\r\n\x04 end0\n" {
		t.Errorf("got status %d, output %q", r.Status, r.Output)
	}
}
