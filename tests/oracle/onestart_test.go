package oracle

import (
	"runtime"
	"testing"

	"ppscript/tests/testkit"
)

// All hooks of a run count from one moment to one moment. Attaching and detaching the programs of interrupts,
// one after the other, causes hundreds of interrupts; the run has no half of these. An interrupt that a CPU
// handles when the run begins has an end alone, one that it handles when the run ends has a begin alone, and
// an interrupt that was lost has one of the two.
func TestAttachingMakesNoHalves(t *testing.T) {
	live(t, testkit.AMD64)
	for _, duration := range []string{"300ms", "1s"} {
		r := testkit.Run(t, testkit.PPScript(t), "hardirqs", "--engine", "bpf", "--duration", duration,
			"--format", "json").Want(t, 0)
		table := testkit.Tables(t, r.Stdout)[0]
		pairs := int64(0)
		for _, row := range table.Rows {
			pairs += row.Int(t, "count")
		}
		unmatched, lost := table.Loss["unmatched"]+table.Loss["broken"], table.Loss["lost"]
		t.Logf("%s: %d pairs, %d unmatched, %d lost", duration, pairs, unmatched, lost)
		if most := 2*int64(runtime.NumCPU()) + lost; pairs == 0 || unmatched > most {
			t.Errorf("%s: got %d pairs and %d unmatched, want some and at most %d", duration, pairs, unmatched, most)
		}
	}
}
