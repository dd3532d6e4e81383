package tiers

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Programs in the kernel relate and count the scheduler's spans.
func TestSchedSpansAreInKernel(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for _, spans := range []string{"runnable", "on_cpu", "off_cpu"} {
		out := explained(t, "def main(o):\n    return "+spans+
			`().by("comm", "state").agg(n = agg.count(), most = agg.max("delay", of = "tid"))`+"\n")
		if !strings.Contains(out, " bpf: events are related and counted inside the kernel") ||
			strings.Contains(out, "interpreted") {
			t.Errorf("%s: got %s", spans, out)
		}
	}
}
