package tiers

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Parts of a random plan: predicates of pairs, and results. Programs compute
// some of the results, others get the pairs that leave the kernel.
var (
	pairPredicates = []string{
		`"start.id == end.id"`, `"start.id == 110"`, `"end.ret < 0"`, `"start.id != 110 && end.ret >= 0"`,
		`"delay > 1"`, `lambda p: p.start.id % 3 == 2 or p.end.ret > 100`, `"start._cpu == end._cpu"`,
		`"start.common_pid == end._tid"`, `"start.args[0] == 0"`,
	}
	insideResults = []string{
		`%s.by(nr = "start.id").count()`, `%s.agg(n = agg.count(), least = agg.min("end.ret"))`,
		`%s.by("key", comm = "start._comm").count()`,
	}
	outsideResults = []string{
		`%s.by(nr = "start.id").agg(n = agg.count(), last = agg.last("end.ret"), some = agg.distinct("start._cpu"))`,
		`%s.by(who = "end._comm").agg(n = agg.count(), first = agg.first("start.id"), seen = agg.distinct("start.id"))`,
		`%s.by(arg = "start.args[1] & 255").agg(n = agg.count(), last = agg.last("start.args[0]"), seen = agg.distinct("start.args[0]"))`,
		`%s.log()`,
	}
)

// randomPairs returns a script of pairs, some of whose results need the pairs
// themselves.
func randomPairs(r *rand.Rand) string {
	var results []string
	stream := func() string {
		s := "calls"
		for range r.Intn(3) {
			s += ".where(" + pairPredicates[r.Intn(len(pairPredicates))] + ")"
		}
		return s
	}
	for range r.Intn(3) {
		results = append(results, fmt.Sprintf(insideResults[r.Intn(len(insideResults))], stream()))
	}
	for range 1 + r.Intn(2) {
		results = append(results, fmt.Sprintf(outsideResults[r.Intn(len(outsideResults))], stream()))
	}
	r.Shuffle(len(results), func(i, k int) { results[i], results[k] = results[k], results[i] })
	return `
calls = join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "_tid")

def main(o):
    return [
        ` + strings.Join(results, ",\n        ") + `,
    ]
`
}

// Wherever a plan is cut, its results are the same as natively.
func TestRandomPairsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	agreeWhereCut(t, 8, func() string { return randomPairs(r) }, "join")
}

// agreeWhereCut compares the results of random plans by programs, which send matching
// events, with the native results. behind is the place after which some plans must be
// cut; "" for none.
func agreeWhereCut(t *testing.T, plans int, random func() (program string), behind string) {
	t.Helper()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	cuts := 0
	for range plans {
		program := random()
		testkit.Again(t, func() (wrong []string) {
			l := testkit.StartTarget(t, "-getppid", "200", "-sleep", "20", "-fail", "30", "-copy", "10")
			l.OnOneCPU()
			before := l.Switches()
			kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
			same := l.Switches() == before
			l.Do()
			a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
			l.End()
			if strings.Contains(a.Stderr, "sends what matches") {
				cuts++
			}
			if x, y := lines(t, a.Stdout), lines(t, b.Stdout); !slices.Equal(x, y) {
				wrong = append(wrong, fmt.Sprintf("%s\ngot %d lines, want %d:\n%.2000s\nwant\n%.2000s",
					program, len(x), len(y), strings.Join(x, "\n"), strings.Join(y, "\n")))
			}
			x, y := testkit.Tables(t, a.Stdout), testkit.Tables(t, b.Stdout)
			for i := range min(len(x), len(y)) {
				if len(x[i].Rows)+len(y[i].Rows) > 0 {
					wrong = append(wrong, compare(x[i], y[i])...)
				}
			}
			if len(x) != len(y) {
				wrong = append(wrong, fmt.Sprintf("got %d tables, want %d", len(x), len(y)))
			}
			if !same && len(wrong) > 0 {
				return []string{"the target's runtime did something while only one of them looked"}
			}
			return wrong
		})
	}
	if cuts == 0 && behind != "" {
		t.Errorf("no plan was cut behind its %s", behind)
	}
}

// lines returns the events of logs, sorted and without times, and without events of pairs
// within pairs.
func lines(t *testing.T, output string) (list []string) {
	t.Helper()
	for _, e := range testkit.Events(t, output) {
		delete(e.Fields, "delay")
		line := fmt.Sprintf("%s %s %s %d %d %d %v", e.Name, e.Event, e.Comm, e.PID, e.TID, e.CPU, e.Fields)
		list = append(list, line)
	}
	slices.Sort(list)
	return list
}

// Every pair that did not fit into a buffer is counted: lines and losses together
// are as many as the table has, which programs count.
func TestLostPairsAreCounted(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls = 200000
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
		p := run(t, l, "bpf", `
def main(o):
    enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
    calls = join([enter], [exit], key = "_tid").where("start.id == 110")
    return [calls.agg(n = agg.count()), calls.log()]
`, "-m", "1")
		l.Do()
		out := p.Stop().Want(t, 0)
		l.End()
		tables := testkit.Tables(t, out.Stdout)
		lost, shown := tables[0].Loss["lost"], len(testkit.Events(t, out.Stdout))
		if n := fmt.Sprint(tables[0].Rows[0]["n"]); n != fmt.Sprint(calls) {
			wrong = append(wrong, fmt.Sprintf("got %s calls, want %d", n, calls))
		}
		if shown%2 != 0 || shown/2+int(lost) != calls || lost == 0 {
			wrong = append(wrong, fmt.Sprintf("got lines of %d calls, and %d lost, want %d together",
				shown/2, lost, calls))
		}
		return wrong
	})
}

// contexts are pairs of events in each kind of context, with the kernel's flags: whether
// interrupts are disabled or served, and the depth of disabled preemption. The flag
// need-resched may change at any time.
const contexts = `
def contexts(start, end):
    pairs = join([tracepoint(start)], [tracepoint(end)], key = "_tid")
    of = {n + "s": "(%s.common_flags & 0x59) + (%s.common_preempt_count << 8)" % (n, n) for n in ("start", "end")}
    return pairs.let(**of).by(*of).agg(n = agg.count(), last = agg.last("end.common_pid"), seen = agg.distinct("end.common_pid"))

def main(o):
    return [
        contexts("timer:hrtimer_start", "sched:sched_switch"),
        contexts("exceptions:page_fault_user", "kmem:mm_page_alloc"),
        contexts("kmem:mm_page_alloc", "exceptions:page_fault_user"),
        contexts("timer:hrtimer_start", "raw_syscalls:sys_exit"),
    ]
`

// If the events of a pair can occur in several contexts, a program reads the context, and
// sends the same flags as the kernel's own records have.
func TestContextsOfPairs(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-sleep", "50", "-fault", "100")
		l.OnOneCPU()
		kernel, native := run(t, l, "auto", contexts), run(t, l, "perf", contexts)
		l.Do()
		a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		if !strings.Contains(a.Stderr, "sends what matches") {
			testkit.Requires(t, testkit.Optional("programs that see whether interrupts are disabled",
				errors.New("Linux 6.14 has them")))
		}
		x, y := testkit.Tables(t, a.Stdout), testkit.Tables(t, b.Stdout)
		for i := range min(len(x), len(y)) {
			if len(y[i].Rows) == 0 {
				wrong = append(wrong, fmt.Sprintf("table %d has no rows", i))
			}
			wrong = append(wrong, compare(x[i], y[i])...)
		}
		if len(x) != 4 || len(y) != 4 {
			wrong = append(wrong, fmt.Sprintf("got %d and %d tables, want 4", len(x), len(y)))
		}
		return wrong
	})
}

// The delay of a pair is the difference of the printed times of its events, to the
// nanosecond.
func TestDelaysAreDifferences(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for _, engine := range []string{"bpf", "perf"} {
		l := testkit.StartTarget(t, "-getppid", "500")
		p := run(t, l, engine, `
enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")

def main(o):
    pairs = join([enter], [exit], key = "_tid")
    return pairs.by("start.id").agg(n = agg.count(), delay = agg.sum("delay"),
        times = agg.sum("time - start._time"))
`)
		l.Do()
		out := p.Stop().Want(t, 0)
		l.End()
		pairs := int64(0)
		for _, row := range testkit.Tables(t, out.Stdout)[0].Rows {
			pairs += row.Int(t, "n")
			if row.Int(t, "delay") != row.Int(t, "times") {
				t.Errorf("%s: got %v, want the delay of these times", engine, row)
			}
		}
		if pairs < 500 {
			t.Errorf("%s: got %d pairs, want 500 or more", engine, pairs)
		}
	}
}
