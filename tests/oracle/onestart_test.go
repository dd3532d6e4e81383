package oracle

import (
	"runtime"
	"testing"

	"ppscript/tests/testkit"
)

// All hooks of a run count from one moment to one moment. Attaching and detaching the programs, or events, of
// interrupts, one after the other, causes hundreds of interrupts; the run has no half of these. Nor has it
// those of irq_work by perf, whose ends cannot be sampled. An interrupt that a CPU
// handles when the run begins has an end alone, one that it handles when the run ends has a begin alone, and
// an interrupt that was lost has one of the two.
func TestAttachingMakesNoHalves(t *testing.T) {
	live(t, testkit.AMD64)
	for _, how := range [][2]string{{"bpf", "300ms"}, {"bpf", "1s"}, {"perf", "1s"}} {
		engine, duration := how[0], how[1]
		r := testkit.Run(t, testkit.PPScript(t), "hardirqs", "--engine", engine, "--duration", duration,
			"--format", "json").Want(t, 0)
		table := testkit.Tables(t, r.Stdout)[0]
		pairs := int64(0)
		for _, row := range table.Rows {
			pairs += row.Int(t, "count")
		}
		unmatched, lost := table.Loss["unmatched"]+table.Loss["broken"], table.Loss["lost"]
		t.Logf("%s, %s: %d pairs, %d unmatched, %d lost", engine, duration, pairs, unmatched, lost)
		if most := 2*int64(runtime.NumCPU()) + lost; pairs == 0 || unmatched > most {
			t.Errorf("%s, %s: got %d pairs and %d unmatched, want some and at most %d",
				engine, duration, pairs, unmatched, most)
		}
	}
}
