package vm

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// The whole way once: output with every byte value, the exit status, a file.
func TestGuest(t *testing.T) {
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

const module = "ppscript/"

// build compiles a static program of this module for guests of an
// architecture.
func build(t *testing.T, arch, pkg string) string {
	t.Helper()
	return goProgram(t, arch, filepath.Base(pkg), "build", module+pkg)
}

// goProgram makes a static program with the go command: "build" or "test".
func goProgram(t *testing.T, arch, name string, args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), name)
	last := len(args) - 1
	cmd := exec.Command("go", append(append(args[:last:last], "-o", bin), args[last])...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return bin
}

// cProgram compiles a static C program.
func cProgram(t *testing.T, arch, source string, flags ...string) string {
	t.Helper()
	cc := machineOf(arch).cc
	if _, err := exec.LookPath(cc); err != nil {
		const hint = "needs %s, of Debian's package gcc or gcc-aarch64-linux-gnu"
		if os.Getenv(requireEnv) == "require" {
			t.Fatalf(hint, cc)
		}
		t.Skipf(hint, cc)
	}
	bin := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c"))
	cmd := exec.Command(cc, append(flags, "-O2", "-static", "-o", bin, source)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", cc, source, err, text)
	}
	return bin
}
