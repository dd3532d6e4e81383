package vm

import (
	"testing"
	"time"
)

// Verifiers of older kernels take what programs do with texts and with slots of rows, and it
// is the same there.
func TestRandomProgramsOnKernels(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/bpf.test": goProgram(t, "amd64", "bpf.test", "test", "-c", module+"bpf")}
	for _, kernel := range []string{"5.10", "6.1", "6.12", "newest"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 4 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf\n"+
					"cd /; bpf.test -test.run 'RandomPrograms|SlotsAreShared' -programs 150")
			if r.Status != 0 {
				t.Errorf("got status %d, want all tests to pass", r.Status)
			}
		})
	}
}
