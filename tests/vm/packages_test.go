package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// guestPackages have tests of the running kernel, which see kprobes, BTF of
// modules and other record layouts in a guest.
var guestPackages = []string{"runtime/kernel", "runtime/perf", "runtime/probe", "bpf"}

// kernelsEnv lists the kernels to try, as "5.10 6.1 6.12"; 6.1 if unset.
const kernelsEnv = "PPSCRIPT_GUEST_KERNELS"

// TestPackages runs whole test binaries as root in guests.
func TestPackages(t *testing.T) {
	kernels := strings.Fields(os.Getenv(kernelsEnv))
	if len(kernels) == 0 {
		kernels = []string{"6.1"}
	}
	files := map[string]string{}
	var command strings.Builder
	// Debian's own level 3 forbids ordinary users everything; 2 is what other
	// kernels start with.
	command.WriteString("echo 2 >/proc/sys/kernel/perf_event_paranoid; failed=0\n")
	for _, pkg := range guestPackages {
		name := filepath.Base(pkg) + ".test"
		files["/w/"+name] = buildTest(t, pkg)
		command.WriteString("echo " + pkg + "; " + name + " || failed=1\n")
	}
	command.WriteString("exit $failed")
	for _, kernel := range kernels {
		t.Run(kernel, func(t *testing.T) {
			r := Run(t, Guest{Kernel: kernel, MemoryMiB: 768, Files: files}, command.String())
			if r.Status != 0 {
				t.Errorf("got status %d, want all tests to pass", r.Status)
			}
		})
	}
}

// buildTest compiles a package's tests for the guest.
func buildTest(t *testing.T, pkg string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), filepath.Base(pkg)+".test")
	cmd := exec.Command("go", "test", "-c", "-o", bin, module+pkg)
	cmd.Env = guestEnv()
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build tests of %s: %v\n%s", pkg, err, text)
	}
	return bin
}
