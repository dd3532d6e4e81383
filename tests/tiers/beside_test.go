package tiers

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// besides are results of the events themselves, some of which leave the kernel, while joins
// and folds in programs use the same events; and results of these joins and folds.
var (
	besides = []string{
		`enter.where("id == 110").log()`,
		`exit.where("ret < 0 && id != 202").log()`,
		`enter.where("id % 3 == 1").by(who = "_tid").agg(n = agg.count(), last = agg.last("args[0]"), ids = agg.distinct("id"))`,
		`merge(enter, exit).where("id == 35").by("event").agg(n = agg.count(), last = agg.last("_pid"))`,
		`exit.by(ok = "ret >= 0").agg(n = agg.count(), seen = agg.distinct("id"))`,
	}
	besideThese = []string{
		`calls.by(nr = "start.id").count()`,
		`calls.where("end.ret < 0").log()`,
		`calls.by(who = "end._tid").agg(n = agg.count(), seen = agg.distinct("start.id"))`,
		`enter.by("id").count()`,
		`third.by("id").agg(n = agg.count(), most = agg.max("n"))`,
		`third.where("n % 6 == 0").log()`,
	}
)

// Events that leave the kernel while programs also use them are the same as natively, and so are
// all other results.
func TestRandomEventsBesideAgree(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	agreeWhereCut(t, 5, func() string {
		var results []string
		for range 1 + r.Intn(2) {
			results = append(results, besides[r.Intn(len(besides))], besideThese[r.Intn(len(besideThese))])
		}
		return `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")
calls = join([enter], [exit], key = "_tid")

def step(s, e):
    s.n += 1
    if s.n % 3 == 0:
        emit(id = e.id, n = s.n)

third = enter.fold("_tid", {"n": 0}, step)

def main(o):
    return [
        ` + strings.Join(results, ",\n        ") + ",\n    ]\n"
	}, "join")
}

// The parts of a line besides the event's fields are the same too: whole records of many sizes,
// with the flags of the moment.
func TestWholeRecordsBesideAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", "20", "-sleep", "20", "-fail", "5")
		program := `
def main(o):
    enter = tracepoint("raw_syscalls:sys_enter")
    switch = tracepoint("sched:sched_switch")
    wakeup = tracepoint("sched:sched_waking")
    calls = join([enter], [tracepoint("raw_syscalls:sys_exit")], key = "_tid")
    return [calls.by(nr = "start.id").count(), merge(enter, switch, wakeup).log()]
`
		kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
		l.Do()
		a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		x, y := flagged(t, a.Stdout), flagged(t, b.Stdout)
		if len(y) < 60 || !slices.Equal(x, y) {
			wrong = append(wrong, fmt.Sprintf("got %d lines\n%.1500s\nwant %d\n%.1500s", len(x),
				strings.Join(x, "\n"), len(y), strings.Join(y, "\n")))
		}
		return wrong
	})
}

// flagged returns the events of logs with their flags, sorted, without the flag that other CPUs
// may set at any time.
func flagged(t *testing.T, output string) (list []string) {
	t.Helper()
	for _, e := range testkit.Events(t, output) {
		list = append(list, fmt.Sprintf("%s %d %d %.1s%.2s %v", e.Event, e.TID, e.CPU, e.Flags,
			e.Flags[2:], e.Fields))
	}
	slices.Sort(list)
	return list
}
