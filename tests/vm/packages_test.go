package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// guestPackages have tests of the running kernel; in a guest these have
// kprobes, BTF of modules and other record layouts.
var guestPackages = []string{
	"runtime/system/kernel", "runtime/source/perf", "runtime/source/probe", "bpf", "bpf/interpreted",
}

// kernelsEnv lists the kernels to try, as "5.10 6.1 6.12"; 6.1 if unset.
const kernelsEnv = "PPSCRIPT_GUEST_KERNELS"

// TestPackages runs whole test binaries as root in guests. Features that other
// machines may lack are required there, so that every test runs on some
// machine.
func TestPackages(t *testing.T) {
	t.Parallel()
	kernels := strings.Fields(os.Getenv(kernelsEnv))
	if len(kernels) == 0 {
		kernels = []string{"6.1"}
	}
	for _, m := range machines {
		// Debian's default level 3 forbids ordinary users everything; 2 is the
		// default of other kernels. An emulated CPU is so slow that the kernel
		// would reduce the rate of samples more and more.
		command := "echo 2 >/proc/sys/kernel/perf_event_paranoid; " +
			"echo 0 >/proc/sys/kernel/perf_cpu_time_max_percent; " +
			"export PPSCRIPT_PROBE_TARGET=/w/target PPSCRIPT_REQUIRE=" + m.delivers + "; failed=0\n"
		target := cProgram(t, m.arch, "../../runtime/source/probe/testdata/target.c")
		files := map[string]string{"/w/target": target}
		for _, pkg := range guestPackages {
			name := filepath.Base(pkg) + ".test"
			files["/w/"+name] = goProgram(t, m.arch, name, "test", "-c", module+pkg)
			command += "echo " + pkg + "; " + name + " || failed=1\n"
		}
		for _, kernel := range kernels {
			t.Run(m.arch+" "+kernel, func(t *testing.T) {
				t.Parallel()
				r := Run(t, Guest{
					Arch: m.arch, Kernel: kernel, MemoryMiB: 768, Files: files, Timeout: 6 * time.Minute,
				}, command+"exit $failed")
				if r.Status != 0 {
					t.Errorf("got status %d, want all tests to pass", r.Status)
				}
			})
		}
	}
}

// Profilers, in all ways, whose events other machines may not deliver:
// breakpoints open but never fire if a hypervisor hides the debug registers.
func TestMatrixOfBreakpoints(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript":    build(t, "amd64", "cmd/ppscript"),
		"/w/load":        build(t, "amd64", "tests/testkit/load"),
		"/w/matrix.test": goProgram(t, "amd64", "matrix.test", "test", "-c", module+"tests/matrix"),
		"/w/taskset":     "/usr/bin/taskset",
	}
	r := Run(t, Guest{MemoryMiB: 1024, Files: files, Timeout: 6 * time.Minute},
		"export PPSCRIPT_BUILT=/w PPSCRIPT_REQUIRE=root,tracefs,tracepoints,breakpoints\n"+
			"matrix.test -test.v -test.run 'TestMatrix/scene_apart|TestSources/breakpoint'")
	out := string(r.Output)
	for _, passed := range []string{"--- PASS: TestMatrix/scene_apart", "--- PASS: TestSources/breakpoint"} {
		if r.Status != 0 || !strings.Contains(out, passed) {
			t.Errorf("got status %d, want 0 and %q", r.Status, passed)
		}
	}
}
