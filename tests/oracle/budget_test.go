package oracle

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// A load that jumps between thousands of calls a second and as many as can be is observed for a
// share of the CPUs: what is told of it is within its margins in 95 of 100 runs, and what it cost
// within 20 % of the budget. PPSCRIPT_RUNS=100 asks for so many runs; one must be near.
func TestBudgetTellsTheTruth(t *testing.T) {
	live(t)
	runs, near := 1, 2.0
	if n, err := strconv.Atoi(os.Getenv("PPSCRIPT_RUNS")); err == nil {
		runs, near = n, 1
	}
	held := 0
	load := testkit.Load(t)
	const calls, phases = 250000, 3
	jumps := fmt.Sprintf("%s -getppid %d; %[1]s -getppid 300 -sleep 20; ", load, calls)
	jumps = strings.Repeat(jumps, phases)
	script := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter").where("id == %d")`+
		`.agg(n = agg.count(), s = agg.sum("id"))`, unix.SYS_GETPPID)
	budget := fmt.Sprintf("%.4f%%", 4/float64(runtime.NumCPU())) // whatever the machine: 40 ms a second
	for range runs {
		testkit.Again(t, func() (wrong []string) {
			out := testkit.Run(t, testkit.PPScript(t), "-c", script, "--budget", budget, "--format", "json",
				"--", "sh", "-c", jumps+"true").Want(t, 0)
			table := last(t, out.Stdout)
			row := table.Rows[0]
			if row["n_margin"] == nil || row["s_margin"] == nil {
				return []string{fmt.Sprintf("got %v, cost %v: want margins", row, table.Cost)}
			}
			for column, each := range map[string]float64{"n": 1, "s": unix.SYS_GETPPID} {
				got, margin := float64(row.Int(t, column)), float64(row.Int(t, column+"_margin"))
				if want := each * phases * (calls + 300); math.Abs(got-want) > near*margin {
					wrong = append(wrong, fmt.Sprintf("%s: got %v ± %v, want %v", column, got, margin, want))
				}
			}
			c := table.Cost
			if c["events"] >= 1 && c["time"] >= 1 {
				wrong = append(wrong, fmt.Sprintf("got cost %v, want that something was left out", c))
			}
			if runs > 1 { // all are counted
				if len(wrong) == 0 {
					held++
				} else {
					t.Log(wrong, c)
				}
				return nil
			}
			return wrong
		})
	}
	if runs > 1 && held < runs*95/100 {
		t.Errorf("%d of %d runs are within their margins, want 95 of 100", held, runs)
	}
}

// What cannot be bounded is refused, and what costs little is left alone.
func TestBudgetOfOthers(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "multi-trace", "-e", "sched:sched_wakeup", "-e",
		"sched:sched_switch", "--budget", "1%", "--", "true").Want(t, 2)
	if !strings.Contains(out.Stderr, "--budget: this run cannot be bounded") {
		t.Errorf("got %q, want that it cannot be bounded", out.Stderr)
	}
	out = testkit.Run(t, testkit.PPScript(t), "-c", `tracepoint("raw_syscalls:sys_enter").count()`,
		"--budget", "90%", "--", testkit.Load(t), "-getppid", "300").Want(t, 0)
	if strings.Contains(out.Stdout, "±") || strings.Contains(out.Stdout, "sampled") {
		t.Errorf("got %q, want exact numbers and no more", out.Stdout)
	}
}
