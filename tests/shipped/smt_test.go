package shipped

import (
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// With two CPUs treated as one core, the times in which both ran equal those
// computed from the lines of all switches.
func TestSiblingsOfACore(t *testing.T) {
	data := "../data/load.data"
	type share struct{ cpu, tid, sibling int64 }
	want, runs := map[share]int64{}, map[share]int64{}
	var running [2]int64 // it is unknown which thread runs before the first switch
	last := int64(0)
	lines := testkit.Run(t, testkit.PPScript(t), "trace", "-e", "sched:sched_switch", "--input", data,
		"--format", "json").Want(t, 0)
	for _, e := range testkit.Events(t, lines.Stdout) {
		for cpu, tid := range running {
			if tid != 0 {
				want[share{int64(cpu), tid, running[1-cpu]}] += e.Time - last
			}
		}
		if tid := running[e.CPU]; tid != 0 {
			runs[share{int64(e.CPU), tid, 0}]++
		}
		_, next, _ := strings.Cut(e.Text, "next_pid=")
		tid, err := strconv.ParseInt(strings.Fields(next)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		running[e.CPU], last = tid, e.Time
	}

	out := testkit.Run(t, testkit.PPScript(t), "oncpu", "--threads", "--detail", "--smt", "0,1", "--input",
		data, "--format", "json").Want(t, 0)
	tables := testkit.Tables(t, out.Stdout)
	shared := 0
	for _, r := range tables[len(tables)-1].Rows {
		k := share{r.Int(t, "cpu"), r.Int(t, "tid"), r.Int(t, "sibling")}
		if got := r.Int(t, "time"); got != want[k] {
			t.Errorf("CPU %d, thread %d beside %d: got %d ns, want %d", k.cpu, k.tid, k.sibling, got, want[k])
		}
		k.sibling = 0
		runs[k] -= r.Int(t, "runs")
		if r.Int(t, "sibling") != 0 {
			shared++
		}
		delete(want, share{k.cpu, k.tid, r.Int(t, "sibling")})
	}
	for k, n := range runs {
		if n != 0 {
			t.Errorf("CPU %d, thread %d: %d runs more than in the table", k.cpu, k.tid, n)
		}
	}
	if len(want) > 0 || shared < 5 {
		t.Errorf("not in the table: %v; %d rows of threads beside others, want some", want, shared)
	}
}
