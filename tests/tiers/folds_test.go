package tiers

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// folds are state machines of every kind that programs can run.
const folds = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
switch = tracepoint("sched:sched_switch")

# With the thread, a time, numbers that begin with others than 0.
def call(s, e):
    if e.event == "sys_enter":
        s.since, s.nr, s.n = e.time, e.id, s.n + 1
    elif s.since:
        emit(nr = s.nr, took = e.time - s.since, n = s.n, failed = e.ret < 0, comm = e._comm)
        s.since = 0

# Of a process, whose threads work on several CPUs.
def count(s, e):
    s.n += 1
    if e.id % 2:
        s.odd += 1
    emit(n = s.n, odd = s.odd)

# A text in the state, several values that are emitted, an error now and then.
def between(s, e):
    if s.last and s.last != e.next_comm:
        emit(what = s.last, then = e.next_comm, n = 1)
    emit(what = e.prev_comm, then = "", n = 1000 // (s.n - 7))
    s.last = e.prev_comm
    s.n = (s.n + 1) % 11

# A list in the state, an index that it does not have now and then.
def spread(s, e):
    s.n[e.id % 6 - 1] += 1
    most = 0
    for n in s.n:
        if n > most:
            most = n
    s.since[e.id % 2] = e.time
    emit(all = sum(s.n), most = most, last = s.n[-1], backwards = s.since[0] > e.time)

# What the other one emits, of all threads.
def again(s, e):
    if e.nr == 110:
        s.n += e.n
        emit(n = s.n, two = s.n % 2)

# Flushed, with a state that goes on, and one that begins anew.
def kept(s, e):
    s.n += 1
    s.who = e._comm

def told(s, e):
    emit(key = e.key, n = s.n, who = s.who, late = True if e.time else False)
    s.n = max(s.n - 1000, 0)

# Of pairs.
def slow(s, p):
    if p.delay > s.most:
        s.most = p.delay
    s.n += 1
    if s.n % 10 == 0:
        emit(calls = s.n, positive = s.most > 0 * ns)

def main(o):
    calls = merge(enter.let(ret = "0"), exit).fold("_tid", {"since": 0, "nr": -1, "n": 0}, call)
    counted = enter.where("id == 110 || id == 35").fold("_pid", {"n": 0, "odd": 0}, count)
    lists = enter.where("id == 110 || id == 35 || id == 39").fold("_pid", {"n": [0] * 4, "since": [0, 0]}, spread)
    texts = switch.where("prev_comm ~ \"load*\" && next_comm ~ \"echo*\"").fold(lambda e: (e._pid, e._cpu), {"last": "", "n": 3}, between)
    pairs = join([enter], [exit], key = "tid").where("start.id == 110").fold("start.id", {"most": 0 * ns, "n": 0}, slow)
    twice = calls.fold("_pid", {"n": 0}, again)
    flushed = enter.where("id == 110 || id == 35").fold("id", {"n": 0, "who": ""}, kept, flush = told)
    return [
        twice.by("two").agg(n = agg.count(), most = agg.max("n")),
        flushed.where("n > 0").by("key", "who", "late").agg(n = agg.sum("n"), times = agg.count()),
        calls.where("nr == 110 || nr == 257").by("nr", "comm", "failed").agg(n = agg.count(), neg = agg.count(where = "took <= 0")),
        calls.by(call = "syscall_name(nr)").count(),
        counted.agg(events = agg.count(), most = agg.max("n"), odd = agg.max("odd"), sum = agg.sum("n")),
        lists.by("backwards").agg(n = agg.count(), all = agg.max("all"), most = agg.sum("most"), last = agg.max("last")),
        texts.by("what", "then").agg(n = agg.count(), sum = agg.sum("n")),
        pairs.by("positive").agg(n = agg.count(), last = agg.max("calls")),
    ]
`

// Both tiers run the same state machines, with the same results.
func TestKernelFoldsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	testkit.Again(t, func() []string {
		l := testkit.StartTarget(t, "-getppid", "2000", "-sleep", "20", "-fail", "30", "-switch", "50")
		kernel, native := run(t, l, "bpf", folds), run(t, l, "perf", folds)
		l.Do()
		a, b := testkit.Tables(t, kernel.Stop().Want(t, 0).Stdout),
			testkit.Tables(t, native.Stop().Want(t, 0).Stdout)
		l.End()
		return compareAll(t, a, b)
	})
}

// Two CPUs work on one state all the time, and each of their events is
// processed or counted as lost.
func TestKernelFoldIsExact(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.CPU1)...)
	const calls = 50000
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-cpus", "2")
	p := run(t, l, "bpf", `
def step(s, e):
    s.n += 1
    s.half = s.n // 2
    emit(n = s.n, wrong = s.n // 2 != s.half)

def main(o):
    return tracepoint("raw_syscalls:sys_enter").where("id == 110").fold("_pid", {"n": 0, "half": 0}, step).agg(
        events = agg.count(), most = agg.max("n"), sum = agg.sum("n"), wrong = agg.count(where = "wrong"))
`)
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	table := testkit.Tables(t, out.Stdout)[0]

	row, lost := table.Rows[0], table.Loss["lost"]
	n := row.Int(t, "events")
	if n+lost != 2*calls || row.Int(t, "most") != n || row.Int(t, "sum") != n*(n+1)/2 ||
		row.Int(t, "wrong") != 0 {
		t.Errorf("got %v and %d lost, want the numbers from 1 to %d", row, lost, 2*calls)
	}
}

// Keys beyond the limit are counted as evicted.
func TestKernelFoldLimit(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	l := testkit.StartTarget(t, "-getppid", "1000")
	p := run(t, l, "bpf", `
def step(s, e):
    s.n += 1
    emit(n = s.n)

def main(o):
    pairs = join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid").where("start.id == 110")
    return pairs.fold("delay", {"n": 0}, step, limit = 2).agg(n = agg.count())
`)
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	table := testkit.Tables(t, out.Stdout)[0]
	if n := table.Rows[0].Int(t, "n"); n+table.Loss["evicted"] != 1000 || n < 2 ||
		table.Loss["evicted"] == 0 {
		t.Errorf("got %d events and losses %v, want 1000 together", n, table.Loss)
	}
}

// Inside the kernel too, the oldest states are evicted before the map is full: their keys begin
// anew.
func TestKernelFoldGivesUpTheOldest(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const room, calls = 128, 200
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	p := run(t, l, "bpf", fmt.Sprintf(`
def step(s, e):
    s.n += 1
    emit(n = s.n)

def main(o):
    calls = tracepoint("raw_syscalls:sys_enter").where("id == 110")
    return calls.fold(lambda e: e.args[0], {"n": 0}, step, limit = %d).by("n").count()
`, room))
	l.Do()
	time.Sleep(6 * time.Second) // until ppscript checks how full the map is
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	table := testkit.Tables(t, out.Stdout)[0]
	var emitted, begun int64
	for _, row := range table.Rows {
		emitted += row.Int(t, "count")
		if row.Int(t, "n") == 1 {
			begun = row.Int(t, "count")
		}
	}
	// Each call emits an event, or has no state because there is no room; evicted states are
	// counted in addition.
	gone := begun - room
	if gone < room/8 || emitted+table.Loss["evicted"]-gone != 2*calls {
		t.Errorf("got %d begun and %d emitted of two times %d calls, losses %v: want some of %d keys given up",
			begun, emitted, calls, table.Loss, room)
	}
}

// States that are flushed while two CPUs work on them lose no event, and report none
// twice.
func TestKernelFlushIsExact(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.CPU1)...)
	calls := int64(3000000)
	if testing.Short() {
		calls /= 5 // this still gives many intervals in a slow guest
	}
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-cpus", "2")
	p := run(t, l, "bpf", `
def step(s, e):
    s.n += 1

def flush(s, e):
    emit(n = s.n)
    s.n = 0

def main(o):
    return tracepoint("raw_syscalls:sys_enter").where("id == 110").fold("_pid", {"n": 0}, step, flush = flush).agg(n = agg.sum("n"))
`, "-i", "50ms")
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	var told, lost int64
	some := 0
	for _, table := range testkit.Tables(t, out.Stdout) {
		lost += table.Loss["lost"]
		for _, row := range table.Rows {
			if n := row.Int(t, "n"); n > 0 {
				told += n
				some++
			}
		}
	}
	if told+lost != 2*calls || some < 3 || lost > calls/10 {
		t.Errorf("got %d calls in %d intervals and %d lost, want %d in several", told, some, lost, 2*calls)
	}
}

// If programs cannot run a fold, explain says why, and ppscript runs it.
func TestKernelFoldSaysWhyNot(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	f := func(step, key, more, why string) {
		t.Helper()
		program := script(t, fmt.Sprintf(
			"def step(s, e):\n    %s\n\ndef flush(s, e):\n    emit(x = 1)\n    s.n = len(syscall_name(s.n))\n\ndef main(o):\n    return tracepoint(\"raw_syscalls:sys_enter\").fold(%q, {\"n\": 0, \"since\": 0}, step%s).by(\"x\").count()\n",
			step, key, more))
		out := testkit.Run(t, testkit.PPScript(t), "explain", program).Want(t, 0)
		if !strings.Contains(out.Stdout, "engine          perf: not in the kernel, since ") ||
			!strings.Contains(out.Stdout, why) {
			t.Errorf("%s: got\n%s\nwant %q", step, out.Stdout, why)
		}
	}
	f("emit(x = syscall_name(e.id))", "_tid", "", "calls syscall_name()")
	f("emit(x = e.id)", "_tid", ", flush = flush", "has no code for the kernel")
}
