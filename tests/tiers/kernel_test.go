package tiers

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// pipelines are results that can run in the kernel: predicates, keys,
// aggregates and pairs of every kind.
const pipelines = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch")

def main(o):
    calls = join([enter], [exit], key = "tid")
    same = join([enter.where("id == 110")], [exit.where("id == 110")], key = "id")
    return [
        enter.by("id").count(),
        enter.by(pid = "_pid", comm = "_comm", cpu = "_cpu").count(),
        enter.by("_tid", seventh = "id / 7").agg(n = agg.count(), total = agg.sum("id"), lo = agg.min("id"), hi = agg.max("id"), mean = agg.avg("id")),
        enter.where("id == 110 || id < 20").by("id").count(),
        enter.where(lambda e: e.id // 3 % 2 == 0 and not e.id == 7).by(k = lambda e: e.id - 1000).count(),
        enter.agg(median = agg.quantile("id * id", 0.5), p99 = agg.quantile("id * id", 0.99), some = agg.count(where = "id & 2")),
        enter.by(d = "1000 / (id - 110)").count(),
        exit.by("id").agg(failed = agg.count(where = "ret < 0"), least = agg.min("ret"), sum = agg.sum("ret", where = "ret < 4096 && ret > -4096")),
        switch.by("prev_comm", "prev_prio").count(),
        switch.where("prev_comm == \"load-0\"").by(c = "prev_comm", next = "next_pid == 0").count(),
        switch.where("next_comm ~ \"load*\"").count(),
        switch.where(lambda e: e.prev_comm.endswith("-0") or "cho-" in e.next_comm).by("prev_comm", "next_comm").count(),
        switch.where("prev_comm ~ \"[k-m]o?d*\" || next_comm ~ \"*o-[!1-9]\"").by("prev_comm").count(),
        switch.where(lambda e: e.prev_comm.startswith("lo") and e.prev_comm < "load-1").count(),
        switch.by(s = "prev_state & 3").agg(n = agg.count(), least = agg.min("prev_prio")),
        calls.by(nr = "start.id").agg(n = agg.count(), ret = agg.min("end.ret"), neg = agg.count(where = "delay < 0")),
        calls.where("start.id == end.id").by("key", comm = "start._comm").count(),
        same.by("key").count(),
        enter.by("_comm", call = "syscall_name(id)").count(),
        calls.by(call = "syscall_name(start.id)", bad = "end.ret < 0").count(),
        switch.by(state = "symbolic(prev_state)").count(),
        merge(enter, exit).by("id").count(),
        exit.by("_tid").agg(first = agg.first("id"), last = agg.last("id"), who = agg.first("_comm"), bad = agg.last("ret", where = "ret < 0"), all = agg.sum("id")),
        merge(enter.let(call = "id", odd = "id & 1"), exit.let(call = "id + 1000", odd = "2")).by("_tid").agg(first = agg.first("call"), last = agg.last("_comm", where = "odd != 0"), some = agg.last("odd")),
        calls.by(tid = "start._tid").agg(first = agg.first("start.id"), last = agg.last("end.ret"), who = agg.last("end._comm")),
    ]
`

// arguments are results that read only the arguments of raw tracepoints.
const arguments = `
switch = tracepoint("sched:sched_switch")

def main(o):
    return [
        switch.by("prev_comm", "prev_prio").count(),
        switch.where("prev_comm == \"load-0\"").by("next_comm", idle = "next_pid == 0").count(),
        switch.where(lambda e: e.prev_pid != e.next_pid).agg(n = agg.count(), least = agg.min("next_prio"), most = agg.max("prev_prio")),
        tracepoint("raw_syscalls:sys_exit").by("id", bad = "ret < 0").count(),
        tracepoint("sched:sched_waking").by("prio").count(),
        tracepoint("kmem:kmalloc").agg(n = agg.count(), asked = agg.sum("bytes_req"), got = agg.max("bytes_alloc"), at = agg.max("ptr")),
        tracepoint("kmem:kfree").agg(n = agg.count(), at = agg.max("call_site")),
        tracepoint("kmem:mm_page_alloc").by("order").count(),
        tracepoint("sched:sched_wakeup").count(),
        tracepoint("raw_syscalls:sys_exit").by("common_pid", "id").count(),
    ]
`

// runqScript observes switches to threads. (Wake-ups occur in interrupts, in which
// the kernel does not run a program if the interrupt came in the middle of another
// program.)
const runqScript = `
switch = tracepoint("sched:sched_switch")

def main(o):
    waits = join([switch.where("traced(prev_pid)").key("prev_pid")], [switch.where("traced(next_pid)").key("next_pid")])
    return [
        switch.where("traced(next_pid)").by("next_comm").count(),
        switch.where("traced(prev_pid) && prev_prio >= 100").by("prev_comm", "prev_prio").count(),
        waits.by("end.next_comm").agg(n = agg.count(), some = agg.count(where = "delay > 0")),
    ]
`

// run starts ppscript in one tier on a target; the events are open when it
// returns.
func run(t *testing.T, l *testkit.Target, engine, program string, options ...string) *testkit.Process {
	t.Helper()
	p := testkit.Start(t,
		append([]string{testkit.PPScript(t), script(t, program), "--engine", engine, "--format", "json", "-v",
			"-p", strconv.Itoa(l.PID())}, options...)...)
	p.WaitStderr(" open event")
	return p
}

func script(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tiers.star")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// Both tiers observe one run of a program, and make the same tables.
func TestKernelAndNativeAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for name, program := range map[string]string{
		"records": pipelines, "arguments": arguments, "asked": runqScript,
	} {
		t.Run(name, func(t *testing.T) { agree(t, program) })
	}
}

func agree(t *testing.T, program string) {
	testkit.Again(t, func() []string {
		a, b, same := bothEngines(t, program)
		if !same {
			return []string{"the target's runtime did something while only one of them looked"}
		}
		return compareAll(t, a, b)
	})
}

// bothTiers returns the tables of both tiers on one run; same reports whether
// they observed the same events.
func bothEngines(t *testing.T, program string) (a, b []testkit.Table, same bool) {
	t.Helper()
	l := testkit.StartTarget(t, "-getppid", "2000", "-sleep", "20", "-fail", "30", "-switch", "50")
	l.OnOneCPU()
	before := l.Switches()
	kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
	same = l.Switches() == before
	l.Do()
	after := l.Switches()
	a, b = testkit.Tables(t, kernel.Stop().Want(t, 0).Stdout),
		testkit.Tables(t, native.Stop().Want(t, 0).Stdout)
	same = same && l.Switches() == after
	l.End()
	return a, b, same
}

// compareAll reports the differences between the tables of the tiers.
func compareAll(t *testing.T, kernel, native []testkit.Table) (wrong []string) {
	t.Helper()
	if len(kernel) != len(native) || len(kernel) == 0 {
		t.Fatalf("got %d tables, want %d", len(kernel), len(native))
	}
	for i := range kernel {
		wrong = append(wrong, compare(kernel[i], native[i])...)
	}
	return wrong
}

func compare(kernel, native testkit.Table) (wrong []string) {
	k, n := cells(kernel), cells(native)
	if len(k) == 0 || len(n) != len(k) {
		return []string{fmt.Sprintf("%s: got %d rows, want %d\n%v\n%v", native.Name, len(k), len(n), k, n)}
	}
	for i := range k {
		if !equal(k[i], n[i]) {
			wrong = append(wrong, fmt.Sprintf("%s: got row %v, want %v", native.Name, k[i], n[i]))
		}
	}
	for _, loss := range []string{"errors", "unmatched", "evicted", "lost"} {
		// One tier is attached a little before the other, so it may have halves
		// of calls that the other missed.
		if d := kernel.Loss[loss] - native.Loss[loss]; d < -8 || d > 8 || loss != "unmatched" && d != 0 {
			wrong = append(wrong, fmt.Sprintf("%s: got %d %s, want %d", native.Name, kernel.Loss[loss], loss,
				native.Loss[loss]))
		}
	}
	return wrong
}

// cells returns the rows of a table as sorted texts.
func cells(table testkit.Table) [][]string {
	var rows [][]string
	for _, r := range table.Rows {
		var names []string
		for name := range r {
			// The number of a stack is only valid in a run, so its text is compared.
			if _, stack := r[name+"_text"]; !stack {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		var row []string
		for _, name := range names {
			row = append(row, fmt.Sprintf("%s=%v", name, r[name]))
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, slices.Compare)
	return rows
}

// equal allows a difference of a bucket's width for quantiles.
func equal(a, b []string) bool {
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		name, x, _ := strings.Cut(a[i], "=")
		other, y, _ := strings.Cut(b[i], "=")
		if name != other || name != "p99" && name != "median" {
			return false
		}
		p, _ := strconv.ParseFloat(x, 64)
		q, _ := strconv.ParseFloat(y, 64)
		if math.Abs(p-q) > q/64 {
			return false
		}
	}
	return true
}

// The intervals of a run add up to the total, however short they are.
func TestKernelIntervalsAddUp(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const calls, rounds = 30000, 10
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls), "-cpus", "1")
	p := run(t, l, "bpf", `
enter = tracepoint("raw_syscalls:sys_enter")
pairs = join([enter], [tracepoint("raw_syscalls:sys_exit")], key = "tid")

def main(o):
    return [
        enter.where("id == 110").by("id").count(),
        enter.where("id == 110").by(k = "id + 100000").agg(n = agg.count(), p = agg.quantile("id", 0.5)),
        pairs.where("start.id == 110").by("start.id").count(),
        enter.where("id == 110").by("_tid").agg(n = agg.count(), who = agg.first("_comm"), id = agg.last("id")),
    ]
`, "-i", "3ms")
	for range rounds {
		l.Do()
	}
	out := p.Stop().Want(t, 0)
	l.End()
	sums := map[string]int64{}
	ticks := 0
	for _, table := range testkit.Tables(t, out.Stdout) {
		ticks++
		for _, r := range table.Rows {
			column := "count"
			if _, ok := r["n"]; ok {
				column = "n"
			}
			sums[table.Name] += r.Int(t, column)
			who, named := r["who"]
			if named && (!strings.HasPrefix(fmt.Sprint(who), "load") || r.Int(t, "id") != 110) {
				t.Errorf("%s: got %v, want a name and a number in each interval", table.Name, r)
			}
		}
		if table.Loss["errors"]+table.Loss["evicted"]+table.Loss["lost"] > 0 {
			t.Errorf("%s: got losses %v, want none", table.Name, table.Loss)
		}
	}
	for _, name := range []string{"table", "table2", "table3", "table4"} {
		if sums[name] != calls*rounds {
			t.Errorf("%s: got %d in %d tables, want %d", name, sums[name], ticks, calls*rounds)
		}
	}
	if ticks < 6 {
		t.Errorf("got %d tables, want some intervals", ticks)
	}
}

// A wake-up of a thread that does not wait starts no pair, in either tier.
func TestKernelWakeups(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	testkit.Again(t, func() []string { return wakeups(t) })
}

func wakeups(t *testing.T) (wrong []string) {
	l := testkit.StartTarget(t, "-switch", "300", "-sleep", "30")
	// Other loads may run at the same time, and the two runs do not end at the
	// same moment.
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", l.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for _, task := range tasks {
		own = append(own, "end.next_pid == "+task.Name())
	}
	program := fmt.Sprintf(`
wake = tracepoint("sched:sched_wakeup").key("pid")
switch = tracepoint("sched:sched_switch").key("next_pid")

def main(o):
    waits = join([wake], [switch]).where(%q)
    return [
        waits.by("end.next_pid", "start.target_cpu").agg(n = agg.count(), neg = agg.count(where = "delay <= 0")),
        waits.by(same = "start.pid == end.next_pid").count(),
    ]
`, strings.Join(own, " || "))
	var ps []*testkit.Process
	for _, engine := range []string{"bpf", "perf"} {
		p := testkit.Start(t, testkit.PPScript(t), script(t, program), "--engine", engine, "--format",
			"json", "-v", "-C", "0")
		p.WaitStderr(" open event")
		ps = append(ps, p)
	}
	l.Do()
	a, b := testkit.Tables(t, ps[0].Stop().Want(t, 0).Stdout),
		testkit.Tables(t, ps[1].Stop().Want(t, 0).Stdout)
	l.End()
	for i := range a {
		k, n := cells(a[i]), cells(b[i])
		if len(k) == 0 || !slices.EqualFunc(k, n, equal) {
			wrong = append(wrong, fmt.Sprintf("got %v, want %v", k, n))
		}
	}
	return wrong
}
