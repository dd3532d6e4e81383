package tiers

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// sentFields are results that need the events themselves, one script for each plan,
// because one field that cannot be sent would prevent sending all.
var sentFields = map[string]string{
	"last": `
exit = tracepoint("raw_syscalls:sys_exit")
def main(o):
    return [exit.where("id == 110").agg(n = agg.count(), last = agg.last("ret"), first = agg.first("id"), seen = agg.distinct("id"))]
`,
	"texts": `
switch = tracepoint("sched:sched_switch")
def main(o):
    return [switch.where(lambda e: e.prev_pid != e.next_pid).by("prev_comm").agg(n = agg.count(), who = agg.distinct("next_comm"), prio = agg.last("next_prio"))]
`,
	"nested": `
def main(o):
    calls = join([tracepoint("raw_syscalls:sys_enter")], [tracepoint("raw_syscalls:sys_exit")], key = "tid")
    return [calls.where("start.id == 110").by(nr = "start.id").agg(n = agg.count(), last = agg.last("end.ret"), some = agg.distinct("end._cpu"))]
`,
	"fold": `
def _step(s, e):
    s.n += 1
    if s.n % 10 == 0:
        emit(n = s.n, id = e.id)

def main(o):
    runs = tracepoint("raw_syscalls:sys_enter").where(lambda e: e.id == 110 and e.id % 7 == 5).fold(key = "_tid", state = {"n": 0}, step = _step)
    return [runs.by("id").agg(n = agg.count(), most = agg.max("n"))]
`,
}

// Tables from events that programs send equal tables from whole records.
func TestProjectionAndWholeAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	for name, program := range sentFields {
		t.Run(name, func(t *testing.T) { agree(t, program) })
	}
}

// A log with values that only programs can read has whole records; the run
// reports how it gets them.
func TestMomentOfTracepoints(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	l := testkit.StartTarget(t, "-getppid", "50", "-fail", "5")
	text := `
def main(o):
    return tracepoint("syscalls:sys_enter_openat").where("nr_running >= 1 && tif_need_resched != 2").log()
`
	some := run(t, l, "auto", text)
	none := run(t, l, "auto", strings.Replace(text, "nr_running >= 1", "nr_running < 1", 1))
	l.Do()
	out := some.Stop().Want(t, 0)
	if n := len(testkit.Events(t, out.Stdout)); n < 5 ||
		!strings.Contains(out.Stderr, "sends projected records") {
		t.Errorf("got %d events, want the 5 that fail at least\n%s", n, out.Stderr)
	}
	if n := len(testkit.Events(t, none.Stop().Want(t, 0).Stdout)); n != 0 {
		t.Errorf("got %d events while nothing ran, want none", n)
	}
	l.End()
}
