package oracle

import (
	"cmp"
	"slices"
	"strconv"
	"testing"

	"ppscript/tests/testkit"
)

const (
	exited  = "sched:sched_process_exit"
	kmalloc = "kmem:kmalloc"
)

// A latency is a row of the table of latencies.
type latency struct{ calls, total, least, mean, most, errs int64 }

// syscallLatencies pairs system calls in perf script's output by ppscript's
// documented rules.
func syscallLatencies(t *testing.T, lines []line) map[int64]latency {
	t.Helper()
	type open struct{ nr, time int64 }
	began := map[int]open{}
	rows := map[int64]latency{}
	add := func(o open, end line, failed bool) {
		r, d := rows[o.nr], end.time-o.time
		if r.calls == 0 {
			r.least = d
		}
		r.calls++
		r.total += d
		r.least, r.most = min(r.least, d), max(r.most, d)
		if failed {
			r.errs++
		}
		r.mean = r.total / r.calls
		rows[o.nr] = r
	}
	for _, l := range lines {
		o, ok := began[l.tid]
		switch l.event {
		case enter:
			nr, _ := syscallNR(t, l)
			began[l.tid] = open{nr, l.time}
			continue
		case leave:
			if nr, ret := syscallNR(t, l); ok && nr == o.nr {
				add(o, l, ret < 0 && ret >= -4095)
			}
		case exited:
			if ok && (o.nr == 60 || o.nr == 231) { // exit, exit_group
				add(o, l, false)
			}
		default:
			continue
		}
		delete(began, l.tid)
	}
	return rows
}

// ppscript's results for a recording equal those computed from perf script's
// text of it, to the nanosecond.
func TestReplayEqualsPerfScript(t *testing.T) {
	live(t, testkit.Perf, testkit.AMD64)
	file, lines := perfRecord(t, "-e", enter, "-e", leave, "-e", exited, "-e", kmalloc, "--",
		testkit.Load(t), "-getppid", "2000", "-fail", "30", "-sleep", "10", "-switch", "100")
	t.Run("syscalls", func(t *testing.T) { replaySyscalls(t, file, lines) })
	t.Run("top", func(t *testing.T) { replayTop(t, file, lines) })
	t.Run("num-dist", func(t *testing.T) { replayNumDist(t, file, lines) })
	t.Run("silences", func(t *testing.T) { replaySilences(t, file, lines) })
	t.Run("trace", func(t *testing.T) { replayTrace(t, file, lines) })
}

func replaySyscalls(t *testing.T, file string, lines []line) {
	out := testkit.Run(t, testkit.PPScript(t), "syscalls", "--input", file, "--format", "json").Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	want := syscallLatencies(t, lines)
	if len(table.Rows) != len(want) || want[110].calls != 2000 || want[257].errs != 30 {
		t.Errorf("got %d system calls, want %d: %v", len(table.Rows), len(want), want)
	}
	for _, r := range table.Rows {
		got := latency{
			r.Int(t, "calls"), r.Int(t, "total"), r.Int(t, "min"), r.Int(t, "avg"), r.Int(t, "max"),
			r.Int(t, "err"),
		}
		if w := want[r.Int(t, "syscalls")]; got != w {
			t.Errorf("%v: got %+v, want %+v", r["syscalls_text"], got, w)
		}
	}
}

func replayTop(t *testing.T, file string, lines []line) {
	out := testkit.Run(t, testkit.PPScript(t), "top", "--input", file, "--format", "json",
		"-e", enter+"//key=id/alias=calls/", "-e", leave+"//key=id/alias=bytes/top-add=ret/").Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	calls, bytes := map[string]int64{}, map[string]int64{}
	for _, l := range lines {
		switch l.event {
		case enter:
			nr, _ := syscallNR(t, l)
			calls[strconv.FormatInt(nr, 10)]++
		case leave:
			nr, ret := syscallNR(t, l)
			bytes[strconv.FormatInt(nr, 10)] += ret
		}
	}
	for _, row := range table.Rows {
		id := strconv.FormatInt(row.Int(t, "ID"), 10)
		if got := row.Int(t, "CALLS"); got != calls[id] {
			t.Errorf("calls of %s: got %d, want %d", id, got, calls[id])
		}
		if got := row.Int(t, "BYTES"); got != bytes[id] {
			t.Errorf("returned by %s: got %d, want %d", id, got, bytes[id])
		}
		delete(calls, id)
	}
	if len(calls) > 0 {
		t.Errorf("not in the table: %v", calls)
	}
}

func replayNumDist(t *testing.T, file string, lines []line) {
	out := testkit.Run(t, testkit.PPScript(t), "num-dist", "--input", file, "--format", "json",
		"-e", kmalloc+"//num=bytes_req/", "-e", leave+"/id == 110/num=ret/").Want(t, 0)
	table := last(t, out.Stdout)
	noLoss(t, table)
	want := map[string][]int64{}
	for _, l := range lines {
		switch l.event {
		case kmalloc:
			want["kmalloc"] = append(want["kmalloc"], after(t, l.text, "bytes_req="))
		case leave:
			if nr, ret := syscallNR(t, l); nr == 110 {
				want["sys_exit"] = append(want["sys_exit"], ret)
			}
		}
	}
	if len(table.Rows) != 2 || len(want["sys_exit"]) != 2000 {
		t.Fatalf("got %v", table.Rows)
	}
	for _, r := range table.Rows {
		checkDistribution(t, r, want[r.Text(t, "event")])
	}
}

// checkDistribution compares a row of num-dist with the numbers.
func checkDistribution(t *testing.T, r testkit.Row, numbers []int64) {
	t.Helper()
	name := r.Text(t, "event")
	slices.Sort(numbers)
	total := int64(0)
	for _, n := range numbers {
		total += n
	}
	n := int64(len(numbers))
	for _, c := range []struct {
		column string
		want   int64
	}{{"calls", n}, {"total", total}, {"min", numbers[0]}, {"max", numbers[n-1]}, {"avg", total / n}} {
		if got := r.Int(t, c.column); got != c.want {
			t.Errorf("%s of %s: got %d, want %d", c.column, name, got, c.want)
		}
	}
	// The smallest number that 99 % of all do not exceed.
	exact := numbers[(n*99+99)/100-1]
	got := r.Int(t, "p99")
	if off := float64(got-exact) / float64(max(exact, 1)); off < -0.008 || off > 0.008 ||
		n <= 64 && got != exact {
		t.Errorf("p99 of %d %s: got %d, want %d", n, name, got, exact)
	}
}

func replayTrace(t *testing.T, file string, lines []line) {
	out := testkit.Run(t, testkit.PPScript(t), "trace", "--input", file, "--format", "json", "-e",
		enter+","+leave+","+exited).Want(t, 0)
	var got, want []line
	for _, e := range testkit.Events(t, out.Stdout) {
		got = append(got, line{e.Comm, e.TID, e.CPU, e.Time, e.Event, e.Text})
	}
	for _, l := range lines {
		if l.event != kmalloc {
			want = append(want, l)
		}
	}
	compareLines(t, got, want)
}

// compareLines compares events in time order; events of the same time may be in
// any order.
func compareLines(t *testing.T, got, want []line) {
	t.Helper()
	if !slices.IsSortedFunc(got, func(a, b line) int { return cmp.Compare(a.time, b.time) }) {
		t.Error("got lines out of order")
	}
	if len(got) != len(want) {
		t.Fatalf("got %d lines, want %d", len(got), len(want))
	}
	// Two CPUs sometimes have events in the same nanosecond.
	byCPU := func(a, b line) int { return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.cpu, b.cpu)) }
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortStableFunc(got, byCPU)
	slices.SortStableFunc(want, byCPU)
	bad := 0
	for i := range got {
		if want[i].tid == 0 {
			got[i].comm = want[i].comm // swapper, or one for each CPU
		}
		if got[i] != want[i] {
			if bad++; bad < 5 {
				t.Errorf("line %d: got  %+v\nwant %+v", i, got[i], want[i])
			}
		}
	}
	if bad > 0 {
		t.Errorf("%d lines of %d differ", bad, len(got))
	}
}
