package oracle

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// stages are blktrace's stages by number.
var stages = []string{1: "getrq", 2: "rq_insert", 3: "rq_issue", 4: "rq_complete"}

// Every request of fio goes through the stages, and takes no longer there than
// fio measures, because fio's time includes waiting for the CPU.
func TestBlktraceEqualsFio(t *testing.T) {
	live(t, testkit.Fio)
	f := func(scheduler string, steps ...string) {
		t.Helper()
		// The kernel skips hits while it runs another tracer's program on the
		// same CPU, and does not count them: such a run is repeated.
		var wrong []string
		for range 5 {
			if wrong = blktraceAndFio(t, scheduler, steps); wrong == nil {
				return
			}
			t.Logf("again: %q", wrong)
		}
		t.Errorf("%s: got %q", scheduler, wrong)
	}
	f("none", "getrq => rq_issue", "rq_issue => rq_complete")
	f("mq-deadline", "getrq => rq_insert", "rq_insert => rq_issue", "rq_issue => rq_complete")
}

// blktraceAndFio runs both and returns the differences.
func blktraceAndFio(t *testing.T, scheduler string, steps []string) (wrong []string) {
	t.Helper()
	path, name := testkit.LoopDevice(t, scheduler)
	ours := testkit.Start(t, testkit.PPScript(t), "blktrace", "-d", name, "--engine", "perf", "-m", "1024",
		"-v", "--format", "json")
	ours.WaitStderr(" open event")
	const reads = 400
	out := testkit.Run(t, "fio", "--name=test", "--filename="+path, "--direct=1", "--rw=randread", "--bs=4k",
		"--number_ios=400", "--size=16M", "--ioengine=psync", "--output-format=json").Want(t, 0)
	table := last(t, ours.Stop().Want(t, 0).Stdout)
	noLoss(t, table)
	var report struct {
		Jobs []struct {
			Read struct {
				IOs int64                            `json:"total_ios"`
				Lat struct{ Min, Max, Mean float64 } `json:"lat_ns"`
			}
		}
	}
	// fio may print notes before its JSON.
	if err := json.Unmarshal([]byte(out.Stdout[strings.Index(out.Stdout, "{"):]), &report); err != nil ||
		len(report.Jobs) != 1 || report.Jobs[0].Read.IOs != reads {
		t.Fatalf("fio: got %.300s (%v)", out.Stdout, err)
	}
	fio := report.Jobs[0].Read.Lat
	if len(table.Rows) != len(steps) {
		return []string{fmt.Sprintf("got %v, want %d steps", table.Rows, len(steps))}
	}
	total, shortest := int64(0), int64(0)
	for i, r := range table.Rows {
		step := stages[r.Int(t, "start")] + " => " + stages[r.Int(t, "end")]
		if step != steps[i] || r.Int(t, "reqs") != reads || float64(r.Int(t, "max")) > fio.Max {
			wrong = append(wrong, fmt.Sprintf("got %s %v, want %s of %d requests, at most fio's %.0f ns",
				step, r, steps[i], reads, fio.Max))
		}
		total += r.Int(t, "total")
		shortest += r.Int(t, "min")
	}
	if mean := float64(total) / reads; mean > fio.Mean || float64(shortest) > fio.Min ||
		float64(shortest) < fio.Min/20 {
		wrong = append(wrong,
			fmt.Sprintf("got %.0f ns for a request, %d for the shortest steps, fio says %.0f and %.0f", mean,
				shortest, fio.Mean, fio.Min))
	}
	return wrong
}
