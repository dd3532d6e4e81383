package vm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// On kernels of each age, programs give the same emitted events, stacks of pairs, evicted
// events of joins, details of pairs and lines as the native engine. Folds need 5.12 if
// several CPUs work on their states, if they hold stacks, or if they are flushed.
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
		"TestOverwrittenDetailsSayIt", "TestLongTextsAgree") // accepted by 5.10's verifier too
	// The kernel skips programs while a preempted task is reading their maps. Its count of
	// skipped runs is for all processes, so counts of losses are not exact.
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
