package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	for _, m := range machines {
		// Debian's own level 3 forbids ordinary users everything; 2 is what
		// other kernels start with.
		command := "echo 2 >/proc/sys/kernel/perf_event_paranoid; export PPSCRIPT_PROBE_TARGET=/w/target; failed=0\n"
		files := map[string]string{"/w/target": cProgram(t, m.arch, "../../runtime/probe/testdata/target.c")}
		for _, pkg := range guestPackages {
			name := filepath.Base(pkg) + ".test"
			files["/w/"+name] = goProgram(t, m.arch, name, "test", "-c", module+pkg)
			command += "echo " + pkg + "; " + name + " || failed=1\n"
		}
		for _, kernel := range kernels {
			t.Run(m.arch+" "+kernel, func(t *testing.T) {
				r := Run(t, Guest{Arch: m.arch, Kernel: kernel, MemoryMiB: 768, Files: files, Timeout: 6 * time.Minute}, command+"exit $failed")
				if r.Status != 0 {
					t.Errorf("got status %d, want all tests to pass", r.Status)
				}
			})
		}
	}
}
