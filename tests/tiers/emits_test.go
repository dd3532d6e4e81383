package tiers

import (
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// emitting are folds whose emitted events do not depend on an engine's clock: of a
// thread, of a process with a text in its state, of pairs, of several columns.
const emitting = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")

def call(s, e):
    if e.event == "sys_enter":
        s.nr, s.begun, s.n = e.id, True, s.n + 1
    elif s.begun:
        emit(nr = s.nr, n = s.n, ret = e.ret, failed = e.ret < 0, who = e._comm)
        s.begun = False

def runs(s, e):
    if s.nr != e.id:
        emit(nr = s.nr, n = s.n, ret = e.args[0] & 255, failed = False, who = s.who)
        s.nr, s.n, s.who = e.id, 0, e._comm
    s.n += 1

def tenth(s, p):
    s.n += 1
    if s.n % 10 == 0:
        emit(nr = p.start.id, n = s.n, ret = p.end.ret, failed = p.end.ret < 0, who = p.end._comm)

# What is left at the end is told by a flush function, which changes the state as well.
def open(s, e):
    if e.event == "sys_enter":
        s.nr, s.n, s.who = e.id, s.n + 1, e._comm
    else:
        emit(nr = s.nr, n = s.n, ret = e.ret, failed = e.ret < 0, who = s.who)

def left(s, e):
    emit(nr = s.nr, n = s.n, ret = -1, failed = e.key > 0, who = s.who)
    s.n, s.who = 0, ""

# Of what another fold emits.
def every(s, e):
    s.n += e.n
    if s.n % 3 == 0:
        emit(nr = e.nr, n = s.n, ret = e.ret, failed = e.failed, who = e.who)

# Told with the event that began its state, and the one at hand.
def span(s, e):
    if e.event == "sys_enter":
        s.since, s.nr, s.who = e.time, e.id, e._comm
        s.n += 1
    elif s.since:
        emit(nr = s.nr, n = s.n, ret = e.ret, failed = e.ret < 0, who = s.who)

calls = merge(enter.let(ret = "0"), exit).fold("_tid", {"nr": -1, "begun": False, "n": 0}, call)
spells = enter.fold("_pid", {"nr": -1, "n": 0, "who": ""}, runs)
pairs = join([enter], [exit], key = "tid").fold(lambda p: (p.start.id, p.end._tid), {"n": 0}, tenth)
opened = merge(enter.let(ret = "0"), exit).fold("_tid", {"nr": -1, "n": 0, "who": ""}, open, flush = left)
thirds = calls.fold("_tid", {"n": 0}, every)
spans = merge(enter.let(ret = "0"), exit).fold("_tid", {"since": 0, "nr": -1, "n": 0, "who": ""}, span,
    begin = "since")
`

// Other parts of a random plan.
var (
	emitPredicates = []string{
		`"nr == 110"`, `"failed"`, `"n > 3"`, `"nr != 110 && n % 2"`, `"who ~ \"load*\""`,
		`lambda e: e.nr % 3 == 2 or e.ret > 100`, `"_cpu >= 0"`, `"_pid == _tid"`,
	}
	emitsInside = []string{
		`%s.by("nr").count()`, `%s.agg(n = agg.count(), least = agg.min("ret"))`, `%s.by("who", "failed").count()`,
	}
	emitsOutside = []string{
		`%s.by("nr").agg(n = agg.count(), last = agg.last("ret"), some = agg.distinct("n"))`,
		`%s.by("who").agg(n = agg.count(), first = agg.first("nr"), seen = agg.distinct("nr"))`,
		`%s.log()`,
		`%s.log(fields = {"nr": "nr", "twice": "2 * n", "who": "who"})`,
		`sql(%s, query = "select nr, who, sum(n) as n from {stream} group by nr, who order by nr")`,
	}
)

// randomEmits returns a script of folds, some of whose results need the emitted events; of are
// the streams.
func randomEmits(r *rand.Rand, of []string) string {
	var results []string
	add := func(forms []string) {
		name := of[r.Intn(len(of))]
		s := name
		for range r.Intn(3) {
			s += ".where(" + emitPredicates[r.Intn(len(emitPredicates))] + ")"
		}
		table := map[string]string{
			"calls": "call", "spells": "runs", "pairs": "tenth", "opened": "open", "thirds": "every", "spans": "span",
		}[name]
		form := strings.ReplaceAll(forms[r.Intn(len(forms))], "{stream}", table)
		results = append(results, fmt.Sprintf(form, s))
	}
	for range r.Intn(3) {
		add(emitsInside)
	}
	for range 1 + r.Intn(2) {
		add(emitsOutside)
	}
	r.Shuffle(len(results), func(i, k int) { results[i], results[k] = results[k], results[i] })
	return emitting + `
def main(o):
    return [
        ` + strings.Join(results, ",\n        ") + `,
    ]
`
}

// Wherever a plan is cut after folds, its results are the same as natively.
func TestRandomEmitsAgree(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	of := []string{"calls", "spells", "pairs", "opened", "thirds", "spans"}
	plans := 10
	if testing.Short() {
		plans = 5
	}
	agreeWhereCut(t, plans, func() string { return randomEmits(r, of) }, "folds")
}

// An emitted event is shown with the event that began the state and the current event,
// with all that the kernel records about them. So are pairs, with events in two kinds of
// context.
func TestEmitsBetweenEventsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls, sleeps = 50, 10
	program := emitting + `
slept = join([tracepoint("sched:sched_switch")], [exit], key = "_tid")

def main(o):
    return [
        join([enter], [exit], key = "_tid").where("start.id == 110").log(),
        slept.where("start.prev_state == 1").log(),
        spans.where("nr == 110").log(fields = {"nr": "nr"},
            heading = lambda e: fmt("heading {} {}", e.nr, e.n)),
        spans.by("nr").count(),
    ]
`
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-sleep", fmt.Sprint(sleeps))
		l.OnOneCPU()
		inside := inText(t, l, "bpf", program)
		native := inText(t, l, "perf", program)
		l.Do()
		a, b := inside.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		if !strings.Contains(a.Stderr, "sends what matches") {
			t.Fatalf("got %s, want programs that send them", a.Stderr)
		}
		x, y := between(a.Stdout), between(b.Stdout)
		if !slices.Equal(x, y) || len(x) < 5*calls+2*sleeps {
			wrong = append(wrong, fmt.Sprintf("got %d lines, want %d, least %d; one has\n%s\nthe other\n%s",
				len(x), len(y), 5*calls+2*sleeps, strings.Join(onlyIn(x, y), "\n"),
				strings.Join(onlyIn(y, x), "\n")))
		}
		return wrong
	})
}

// inText runs a script with text output.
func inText(t *testing.T, l *testkit.Target, engine, program string) *testkit.Process {
	t.Helper()
	p := testkit.Start(t, testkit.PPScript(t), script(t, program), "--engine", engine, "-v",
		"-p", strconv.Itoa(l.PID()))
	p.WaitStderr(" open event")
	return p
}

// clock matches the time of an event in a line.
var clock = regexp.MustCompile(`\d+\.\d{6}: `)

// onlyIn returns the lines of a that b lacks.
func onlyIn(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return slices.Contains(b, line) })
}

// shownLines matches the events whose lines are compared.
var shownLines = regexp.MustCompile(`sys_enter: |sys_exit: |sched_switch: `)

// toYield matches the flag of a line for need-resched. An interrupt may change it between the
// two engines' readings.
var toYield = regexp.MustCompile(`^(\s*\S+\s+\d+ .).(.. \[)`)

// between returns headings and the lines of events below them, without times and the flag
// need-resched, sorted.
func between(output string) (list []string) {
	for _, line := range strings.Split(output, "\n") {
		if _, heading, ok := strings.Cut(line, "heading "); ok {
			list = append(list, heading)
		} else if shownLines.MatchString(line) {
			line = clock.ReplaceAllString(line[min(26, len(line)):], "")
			list = append(list, toYield.ReplaceAllString(line, "${1}?${2}"))
		}
	}
	slices.Sort(list)
	return list
}

// Every emitted event that did not fit into a buffer is counted: lines and losses
// together are as many as the table has, which programs count.
func TestLostEmitsAreCounted(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls = 200000
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
	p := run(t, l, "bpf", emitting+`
def main(o):
    ours = calls.where("nr == 110")
    return [ours.agg(n = agg.count()), ours.log()]
`, "-m", "1")
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	tables := testkit.Tables(t, out.Stdout)
	lost, shown := tables[0].Loss["lost"], len(testkit.Events(t, out.Stdout))
	if n := fmt.Sprint(tables[0].Rows[0]["n"]); n != fmt.Sprint(calls) {
		t.Errorf("got %s calls, want %d", n, calls)
	}
	if shown+int(lost) != calls || lost == 0 {
		t.Errorf("got %d lines and %d lost, want %d together and some lost", shown, lost, calls)
	}
}

// Programs that check which threads are observed, and send emitted events, observe the
// whole life of the target: the first record ends nothing.
func TestKernelEmitsOfTracedThreads(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	agree(t, `
def step(s, e):
    s.n += 1
    emit(n = s.n, comm = e.prev_comm)

def main(o):
    away = tracepoint("sched:sched_switch").where("traced(prev_pid) && prev_comm ~ \"load*\"").fold("prev_pid", {"n": 0}, step)
    return [away.where("n > 3").by("comm").agg(n = agg.count(), last = agg.last("n"), seen = agg.distinct("n")), away.by("comm").count()]
`)
}
