package oracle

import (
	"fmt"
	"testing"

	"ppscript/tests/testkit"
)

// The count of time stamps while a program computes equals perf stat's.
func TestNamedEventEqualsPerfStat(t *testing.T) {
	live(t, testkit.Perf, testkit.TSC)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-spin", "300")
		perf := attachPerf(t, l, "stat", "-x,", "-e", "msr/tsc/")
		ours := attach(t, l, "--format", "json", "-c",
			`counters([pmu_event("msr/tsc"), software("task-clock")]).by("event").agg(total = agg.sum("value"))`)
		stat := attach(t, l, "stat", "--format", "json", "-e", "msr/tsc//alias=stamps/")
		l.Do()
		table := last(t, ours.Stop().Want(t, 0).Stdout)
		named := int64(0)
		for _, row := range last(t, stat.Stop().Want(t, 0).Stdout).Rows {
			named += row.Int(t, "total")
		}
		want := perfCounts(t, perf.end())["msr/tsc/"]
		l.End()
		got := map[string]int64{}
		for _, row := range table.Rows {
			got[row.Text(t, "event")] = row.Int(t, "total")
		}
		tsc, ns := got["pmu:msr/tsc"], got["software:task-clock"]
		if ns < 50e6 {
			t.Fatalf("got %d ns of computing, want a good part of 300 ms", ns)
		}
		for _, n := range []int64{tsc, named} {
			if d := n - want; d < -want/100 || d > want/100 {
				wrong = append(wrong, fmt.Sprintf("got %d time stamps in %d ns, want perf's %d", n, ns, want))
			}
		}
		return wrong
	})
}
