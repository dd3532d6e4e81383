package vm

import (
	"strings"
	"testing"
	"time"
)

// Verifiers of older kernels take the programs that walk stacks by unwind tables, from 6.1 on; on
// those before 5.17 stacks are copied.
func TestWalksOnKernels(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/bpf.test": goProgram(t, "amd64", "bpf.test", "test", "-c", module+"bpf")}
	for kernel, want := range map[string]string{
		"5.10": "--- SKIP: TestUnknownProcesses", "6.1": "--- PASS: TestUnknownProcesses",
		"6.12": "--- PASS: TestUnknownProcesses",
	} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 4 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf\n"+
					"cd /; bpf.test -test.run UnknownProcesses -test.v")
			if r.Status != 0 || !strings.Contains(string(r.Output), want) {
				t.Errorf("got status %d and\n%s\nwant %s", r.Status, r.Output, want)
			}
		})
	}
}
