package vm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// What folds emit, the stacks of pairs, and what joins give up come out of a kernel of each
// age as they are made natively; what is kept of what happens around pairs, and lines, too.
// Folds whose states several CPUs work on, that hold stacks, or that are flushed, need 5.12.
func TestEmitsOnKernels(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript":   build(t, "amd64", "cmd/ppscript"),
		"/w/load":       build(t, "amd64", "tests/testkit/load"),
		"/w/tiers.test": goProgram(t, "amd64", "tiers.test", "test", "-c", module+"tests/tiers"),
	}
	all := []string{"TestLostEmitsAreCounted", "TestEmitsBetweenEventsAgree", "TestStacksOfEmitsAgree",
		"TestFullJoinsAgree", "TestStacksOfPairsAgree", "TestRandomEmitsAgree", "TestKernelFlushIsExact"}
	kept := append(all[:7:7], "TestDetailsWithStacksAgree", "TestWholeRecordsBesideAgree")
	old := append(all[:2:2], "TestFullJoinsAgree", "TestDetailsWithStacksAgree",
		"TestOverwrittenDetailsSayIt", "TestLongTextsAgree") // what its verifier understands, the others do
	// The kernel leaves programs out while another task, preempted, reads their maps. What it
	// tells of that is of all processes, so that counts of losses are not exact.
	newest := slices.DeleteFunc(slices.Clone(all), func(test string) bool {
		return test == "TestLostEmitsAreCounted" || test == "TestKernelFlushIsExact"
	})
	for kernel, tests := range map[string][]string{
		"5.10": old, "6.1": kept, "6.12": all, "newest": newest,
	} {
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
