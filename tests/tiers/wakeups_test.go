package tiers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	kernels "ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// The arguments of the kernel's trace call give the same woken thread, priority and CPU as
// the fields of its record.
func TestWakeupsAgree(t *testing.T) {
	t.Parallel()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const turns, cpus = 300, 2 // on each CPU
	const program = `
def main(o):
    woken = tracepoint("sched:sched_wakeup").where("pid != _tid")
    return woken.by("pid", "prio", "comm", "target_cpu").agg(n = agg.count(), cpus = agg.max("target_cpu"))
`
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-switch", fmt.Sprint(turns), "-cpus", fmt.Sprint(cpus))
		kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
		l.Do()
		a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		x, y := turned(t, a.Stdout, turns), turned(t, b.Stdout, turns)
		on := map[int64]bool{}
		for _, row := range x.Rows {
			on[row.Int(t, "target_cpu")] = true
		}
		if len(on) != cpus {
			wrong = append(wrong, fmt.Sprintf("got wake-ups on CPUs %v, want %d of them", on, cpus))
		}
		v, err := kernels.ReadVersion(kernels.Roots{})
		if err != nil {
			t.Fatal(err)
		}
		if raw := "raw tracepoint sched_wakeup"; v.AtLeast(6, 2) && !strings.Contains(a.Stderr, raw) {
			wrong = append(wrong, "got "+a.Stderr+", want a "+raw)
		}
		return append(wrong, compare(x, y)...)
	})
}

// turned returns the rows of threads that were woken in many turns: a thread that still runs is not
// woken.
func turned(t *testing.T, output string, turns int64) testkit.Table {
	table := testkit.Tables(t, output)[0]
	table.Rows = slices.DeleteFunc(table.Rows, func(r testkit.Row) bool { return r.Int(t, "n") < turns/20 })
	return table
}
