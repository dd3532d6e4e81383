package oracle

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// A load that jumps between thousands of calls a second and as many as possible is observed with
// a budget: the estimates are within their margins in 95 of 100 runs, and the cost is within 20 %
// of the budget. PPSCRIPT_RUNS=100 sets the number of runs; with one run, the estimate must be
// near.
func TestBudgetTellsTheTruth(t *testing.T) { tellsTheTruth(t, "bpf") }

// The same holds for work that programs cannot do, in slots of time.
func TestBudgetOfSlots(t *testing.T) { tellsTheTruth(t, "perf") }

func tellsTheTruth(t *testing.T, engine string) {
	live(t)
	runs, near := 1, 2.0
	if n, err := strconv.Atoi(os.Getenv("PPSCRIPT_RUNS")); err == nil {
		runs, near = n, 1
	}
	held, none := 0, 0
	load := testkit.Load(t)
	const phases = 3
	calls := callsOf(t, load, time.Second)
	jumps := fmt.Sprintf("%s -getppid %d; %[1]s -getppid 300 -sleep 20; ", load, calls)
	jumps = strings.Repeat(jumps, phases)
	script := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter").where("id == %d")`+
		`.agg(n = agg.count(), s = agg.sum("id"))`, unix.SYS_GETPPID)
	budget := fmt.Sprintf("%.4f%%", 4/float64(runtime.NumCPU())) // 40 ms a second on any machine
	for range runs {
		testkit.Again(t, func() (wrong []string) {
			out := testkit.Run(t, testkit.PPScript(t), "-c", script, "--engine", engine, "--budget", budget,
				"--format", "json", "--", "sh", "-c", jumps+"true").Want(t, 0)
			table := last(t, out.Stdout)
			row, c := table.Rows[0], table.Cost
			if c["events"] >= 1 && c["time"] >= 1 {
				return []string{fmt.Sprintf("got cost %v, want that something was left out", c)}
			}
			if row["sampled"] == true {
				none++ // too few events were observed, or the machine is overloaded
				return nil
			}
			if row["n_margin"] == nil || row["s_margin"] == nil {
				return []string{fmt.Sprintf("got %v, cost %v: want margins", row, c)}
			}
			for column, each := range map[string]float64{"n": 1, "s": unix.SYS_GETPPID} {
				got, margin := float64(row.Int(t, column)), float64(row.Int(t, column+"_margin"))
				if want := each * float64(phases*(calls+300)); math.Abs(got-want) > near*margin {
					wrong = append(wrong, fmt.Sprintf("%s: got %v ± %v, want %v", column, got, margin, want))
				}
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
	t.Logf("%d of %d runs have no margin", none, runs)
	if told := runs - none; runs > 1 && held < told*95/100 {
		t.Errorf("%d of %d runs are within their margins, want 95 of 100", held, told)
	}
}

// callsOf is how many calls the load makes in so much CPU time on this machine: runs that are too short
// have no margins.
func callsOf(t *testing.T, load string, each time.Duration) int {
	const some = 250000
	out := testkit.Run(t, load, "-getppid", strconv.Itoa(some)).Want(t, 0)
	return max(some, int(some*each/max(out.CPU, time.Millisecond)))
}

// Of hundreds of keys whose rates jump, some of which have calls in a few moments only, the rows with a
// margin hold the truth in 95 of 100 cases, by each engine. PPSCRIPT_RUNS=100 asks for so many runs of each;
// few runs, whose rows share their slots of time, say less.
func TestBudgetOfManyKeys(t *testing.T) {
	live(t)
	runs, least := 2, 0.7
	if n, err := strconv.Atoi(os.Getenv("PPSCRIPT_RUNS")); err == nil {
		runs, least = n, 0.95
	}
	script := fmt.Sprintf(`calls = tracepoint("raw_syscalls:sys_enter").where("id == %d").let(key = "args[0]")
[calls.by("key").agg(n = agg.count(), s = agg.sum("id")), calls.agg(n = agg.count(), s = agg.sum("id"))]`,
		unix.SYS_GETPPID)
	for _, engine := range []string{"bpf", "perf"} {
		t.Run(engine, func(t *testing.T) {
			look := func() (wrong []string) {
				var rows, totals inside
				for run := range runs {
					wrong = append(wrong, budgetOfKeys(t, script, engine, run, &rows, &totals)...)
				}
				t.Logf("rows: %s; totals: %s", rows, totals)
				few := runs < 20 || totals.reported == 0
				// There is one total for each run: of so few, the share has an error of its own.
				allowed := least - 2*math.Sqrt(least*(1-least)/float64(max(totals.reported, 1)))
				if rows.reported > 0 && rows.share() < least || !few && totals.share() < allowed {
					wrong = append(wrong, fmt.Sprintf("got %s of rows and %s of totals, want %g", rows,
						totals, least))
				}
				return wrong
			}
			if runs > 2 { // all are counted
				for _, text := range look() {
					t.Error(text)
				}
				return
			}
			testkit.Again(t, look)
		})
	}
}

// inside counts the estimates, those with a margin, and those whose margin contains the truth.
type inside struct{ all, reported, within int }

func (x inside) share() float64 { return float64(x.within) / float64(max(x.reported, 1)) }

func (x inside) String() string {
	return fmt.Sprintf("%d of %d within their margins (%.1f %%), %d in all", x.within, x.reported,
		100*x.share(), x.all)
}

// add counts a row for a known number of calls, of which a reported number of records was lost. It
// reports whether the row is right, or is marked as an estimate.
func (x *inside) add(t *testing.T, row testkit.Row, want, lost float64) (exact bool) {
	x.all++
	if row["sampled"] == true {
		return true
	}
	held := true
	for column, each := range map[string]float64{"n": 1, "s": unix.SYS_GETPPID} {
		margin := each * lost
		if row[column+"_margin"] != nil {
			margin += float64(row.Int(t, column+"_margin"))
		}
		held = held && math.Abs(float64(row.Int(t, column))-each*want) <= margin
	}
	if row["n_margin"] == nil {
		return held
	}
	if x.reported++; held {
		x.within++
	}
	return true
}

// budgetOfKeys checks one run with many keys.
func budgetOfKeys(t *testing.T, script, engine string, run int, rows, totals *inside) (wrong []string) {
	t.Helper()
	file := filepath.Join(testkit.Open(t), "counts")
	budget := fmt.Sprintf("%.4f%%", []float64{8, 20, 2, 40}[run%4]/float64(runtime.NumCPU()))
	out := testkit.Run(t, testkit.PPScript(t), "-c", script, "--engine", engine, "--budget", budget,
		"--format", "json", "--", testkit.Load(t), "-jumps", "4s", "-keys", "300", "-seed", fmt.Sprint(run+1),
		"-counts", file)
	out.Want(t, 0)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var truth []float64
	all := 0.0
	for line := range strings.Lines(string(b)) {
		n, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
		if err != nil {
			t.Fatal(err)
		}
		truth, all = append(truth, n), all+n
	}
	tables := testkit.Tables(t, out.Stdout)
	if len(tables) != 2 || len(truth) < 300 {
		t.Fatalf("got %d tables, %d keys of the load", len(tables), len(truth))
	}
	before, total := *rows, *totals
	lost := float64(tables[0].Loss["lost"] + tables[0].Loss["dropped"])
	for _, row := range tables[0].Rows {
		if !rows.add(t, row, truth[row.Int(t, "key")], lost) {
			wrong = append(wrong, fmt.Sprintf("got %v, want %v calls, or that it is an estimate", row,
				truth[row.Int(t, "key")]))
		}
	}
	if !totals.add(t, tables[1].Rows[0], all, lost) {
		wrong = append(wrong, fmt.Sprintf("got %v, want %v calls, or that it is an estimate",
			tables[1].Rows[0], all))
	}
	t.Logf("run %d, %s: %d of %d rows within their margins, of %d; total %v, want %.0f, held %v; cost %v",
		run, budget, rows.within-before.within, rows.reported-before.reported, rows.all-before.all,
		tables[1].Rows[0],
		all, totals.within > total.within, tables[0].Cost)
	return wrong
}

// again is a shell's program that runs commands again and again. When it is ended, it ends the
// command that runs, which would otherwise go on and hold the output of the run.
func again(commands ...string) string {
	text := "trap 'kill $!; exit' TERM; while :; do "
	for _, c := range commands {
		text += c + " & wait $!; "
	}
	return text + "done"
}

// With any load, any five seconds after the first second cost at most the budget plus 20 %, and the
// load is observed to its end.
func TestBudgetIsKept(t *testing.T) {
	live(t)
	const budget = 0.02
	load := testkit.Load(t)
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "-c",
			`tracepoint("raw_syscalls:sys_enter").by("id").count()`, "--budget", "2%", "-i", "1s",
			"--duration", "10s", "--format", "json", "--", "sh", "-c",
			again(load+" -getppid 5000000", load+" -getppid 600 -sleep 1000"))
		var cost []float64
		seen := 0
		for _, r := range testkit.Records(t, out.Stdout) {
			if r.Type != "table" {
				continue
			}
			var table struct{ Cost map[string]float64 }
			if err := json.Unmarshal(r.Data, &table); err != nil {
				t.Fatal(err)
			}
			cost = append(cost, table.Cost["own"]+table.Cost["traced"])
			if table.Cost["time"] > 0 {
				seen = len(cost)
			}
		}
		if len(cost) < 9 || seen < len(cost)-1 {
			wrong = append(wrong, fmt.Sprintf("got %d intervals, the last one that was observed is number %d",
				len(cost), seen))
		}
		for i := 1; i+5 <= len(cost); i++ {
			sum := 0.0
			for _, c := range cost[i : i+5] {
				sum += c / 5
			}
			if sum > 1.2*budget {
				wrong = append(wrong, fmt.Sprintf("seconds %d to %d cost %.2f%%, want at most %.2f%%: %v",
					i, i+5, 100*sum, 120*budget, cost))
			}
		}
		return wrong
	})
}

// A run that cannot keep the budget at all ends, because events that are turned off still cost time
// at their hooks.
func TestBudgetThatCannotBeKept(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "-c", `tracepoint("raw_syscalls:sys_enter").by("id").count()`,
		"--engine", "perf", "--budget", "0.1%", "--duration", "20s", "--", "sh", "-c",
		again(testkit.Load(t)+" -getppid 20000000"))
	if out.Took > 19*time.Second || !strings.Contains(out.Stderr, "even while the events are off") {
		t.Errorf("got %q after %v, want an end, and why", out.Stderr, out.Took)
	}
}

// Every output marks its numbers as estimates.
func TestEstimatesAreMarked(t *testing.T) {
	live(t)
	dir := testkit.Open(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	text := func(name string) string {
		t.Helper()
		b, err := os.ReadFile(in(name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	run := func(options ...string) testkit.Output {
		t.Helper()
		command := []string{testkit.PPScript(t), "-c", `tracepoint("raw_syscalls:sys_enter").stacks()`,
			"--budget", "2%"}
		load := []string{"--", testkit.Load(t), "-getppid", "3000000"}
		return testkit.Run(t, slices.Concat(command, options, load)...).Want(t, 0)
	}
	const mark = "for a budget of 2% of the CPUs"
	out := run("--flame-graph", in("x.svg"), "--pprof", in("x.pb.gz"),
		"--parquet", in("columns"))
	comments := testkit.Run(t, "go", "tool", "pprof", "-comments", in("x.pb.gz")).Want(t, 0)
	for where, got := range map[string]string{
		"text": out.Stdout, "flame graph": text("x.svg"), "pprof": comments.Stdout,
		"parquet": text("columns/stacks.parquet"),
	} {
		if !strings.Contains(got, mark) {
			t.Errorf("%s: got nothing about the budget in %.300q", where, got)
		}
	}
	if out = run("--flame-graph", in("x.folded")); !strings.Contains(out.Stderr, "x.folded: sampled: ") ||
		!strings.Contains(out.Stderr, mark) {
		t.Errorf("folded stacks: got %q", out.Stderr)
	}
}

// Runs whose cost cannot be bounded are refused, and cheap runs stay exact.
func TestBudgetOfOthers(t *testing.T) {
	live(t)
	out := testkit.Run(t, testkit.PPScript(t), "-c", `tracepoint("sched:sched_wakeup").log()`,
		"--budget", "1%", "-N", "5", "--", "true").Want(t, 2)
	if !strings.Contains(out.Stderr, "--budget: this run cannot be bounded") {
		t.Errorf("got %q, want that it cannot be bounded", out.Stderr)
	}
	some := `tracepoint("raw_syscalls:sys_enter").where("id == 110")`
	for _, script := range []string{some + `.count()`, some + `.agg(n = agg.count(), l = agg.list("id"))`} {
		out = testkit.Run(t, testkit.PPScript(t), "-c", script,
			"--budget", "90%", "--", testkit.Load(t), "-getppid", "300").Want(t, 0)
		if strings.Contains(out.Stdout, "±") || strings.Contains(out.Stdout, "sampled") {
			t.Errorf("got %q, want exact numbers and no more", out.Stdout)
		}
	}
}

// The output with lines of slots has the number of all events.
func TestBudgetOfLines(t *testing.T) {
	live(t)
	const calls, phases = 100000, 3
	script := fmt.Sprintf(`tracepoint("raw_syscalls:sys_enter").where("id == %d").log()`, unix.SYS_GETPPID)
	jump := fmt.Sprintf("%s -getppid %d; sleep 0.2; ", testkit.Load(t), calls)
	budget := fmt.Sprintf("%.4f%%", 2/float64(runtime.NumCPU())) // 20 ms a second on any machine
	out := testkit.Run(t, testkit.PPScript(t), "-c", script, "--budget", budget, "--format", "json", "--",
		"sh", "-c", strings.Repeat(jump, phases)).Want(t, 0)
	lines, told := 0, false
	for _, r := range testkit.Records(t, out.Stdout) {
		switch r.Type {
		case "event":
			lines++
		case "sampled":
			var s struct{ Time, Budget, Cost, Estimated float64 }
			if err := json.Unmarshal(r.Data, &s); err != nil {
				t.Fatal(err)
			}
			told = true
			if s.Time >= 1 || s.Budget <= 0 || s.Cost <= 0 || s.Estimated < float64(lines) {
				t.Errorf("got %+v with %d lines, want a part of the time, and more events than lines", s,
					lines)
			}
		}
	}
	if !told || lines == 0 || lines >= calls*phases {
		t.Errorf("got %d lines, told that they are a part: %v; want some, and that", lines, told)
	}
}

// Pairs of many threads with a pace of their own are counted with a budget, by keys or by slots:
// the estimates are within twice their margins, and no pair is longer than the longest real one.
func TestBudgetOfPairs(t *testing.T) {
	live(t)
	const threads, calls = 100, 700
	script := fmt.Sprintf(`join([tracepoint("raw_syscalls:sys_enter").where("id == %[1]d")], `+
		`[tracepoint("raw_syscalls:sys_exit").where("id == %[1]d")], key = "tid")`+
		`.agg(n = agg.count(), worst = agg.max("delay"))`, unix.SYS_GETPPID)
	budget := fmt.Sprintf("%.4f%%", 2/float64(runtime.NumCPU())) // 20 ms a second on any machine
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "-c", script, "--budget", budget, "--format", "json", "--",
			"sh", "-c", fmt.Sprintf("for i in $(seq %d); do %s -getppid %d -sleep 1 & done; wait",
				threads, testkit.Load(t), calls)).Want(t, 0)
		table := last(t, out.Stdout)
		row, c := table.Rows[0], table.Cost
		if row["sampled"] == true {
			return nil
		}
		if row["n_margin"] == nil || c["events"] >= 1 && c["time"] >= 1 {
			return []string{fmt.Sprintf("got %v, cost %v: want that something was left out", row, c)}
		}
		got, margin := float64(row.Int(t, "n")), float64(row.Int(t, "n_margin"))
		if math.Abs(got-threads*calls) > 2*margin {
			wrong = append(wrong, fmt.Sprintf("got %v ± %v pairs, want %d", got, margin, threads*calls))
		}
		if worst := row.Int(t, "worst"); worst > 5e9 {
			wrong = append(wrong, fmt.Sprintf("got a call of %d ns", worst))
		}
		return wrong
	})
}
