package oracle

import (
	"runtime"
	"testing"

	"ppscript/tests/testkit"
)

// All hooks of a run begin to count at the same moment, and end at the same moment. Attaching and
// detaching the programs, or events, of interrupts one after the other causes hundreds of
// interrupts, but the run has no halves of these, nor of perf's irq_work, whose ends cannot be
// sampled. Only an interrupt that a CPU handles when the run begins has just an end, one that it
// handles when the run ends has just a begin, and after a loss an interrupt may have one of the
// two.
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
