package vm

import (
	"testing"
	"time"
)

// Programs find the members of the kernel's structures wherever a kernel has them.
func TestKernelReads(t *testing.T) {
	files := map[string]string{
		"/w/bpf.test":   goProgram(t, "amd64", "bpf.test", "test", "-c", module+"bpf"),
		"/w/probe.test": goProgram(t, "amd64", "probe.test", "test", "-c", module+"runtime/probe"),
	}
	for _, kernel := range []string{"5.10", "6.1", "6.12"} {
		t.Run(kernel, func(t *testing.T) {
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 3 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf,kprobes\n"+
					"cd /; bpf.test -test.run KernelRead -test.v && probe.test -test.run 'KernelArg|NamedArg' -test.v")
			if r.Status != 0 {
				t.Errorf("got status %d, want all tests to pass", r.Status)
			}
		})
	}
}
