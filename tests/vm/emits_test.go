package vm

import (
	"strings"
	"testing"
	"time"
)

// What folds emit, the stacks of pairs, and what joins give up come out of a kernel of each
// age as they are made natively. Folds whose states several CPUs work on, and those that are
// flushed, need 5.12, as does what is kept of what happens around pairs; lines of pairs come
// from 5.17 on.
func TestEmitsOnKernels(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript":   build(t, "amd64", "cmd/ppscript"),
		"/w/load":       build(t, "amd64", "tests/testkit/load"),
		"/w/tiers.test": goProgram(t, "amd64", "tiers.test", "test", "-c", module+"tests/tiers"),
	}
	all := []string{"TestLostEmitsAreCounted", "TestEmitsBetweenEventsAgree", "TestStacksOfEmitsAgree",
		"TestFullJoinsAgree", "TestStacksOfPairsAgree", "TestRandomEmitsAgree", "TestKernelFlushIsExact"}
	kept := append(all[:7:7], "TestDetailsWithStacksAgree")
	old := append(all[:4:4], "TestLongTextsAgree") // what its verifier understands, the others do
	for kernel, tests := range map[string][]string{"5.10": old, "6.1": kept, "6.12": all} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			guest := Guest{Kernel: kernel, CPUs: 2, MemoryMiB: 1024, Files: files, Timeout: 8 * time.Minute}
			r := Run(t, guest,
				"export PPSCRIPT_BUILT=/w PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf\n"+
					"cd /w; tiers.test -test.short -test.v -test.run '^("+strings.Join(tests, "|")+")$'")
			for _, test := range tests {
				passed := "--- PASS: " + test
				if r.Status != 0 || !strings.Contains(string(r.Output), passed) {
					t.Errorf("got status %d, want 0 and %q", r.Status, passed)
				}
			}
		})
	}
}
