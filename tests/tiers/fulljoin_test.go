package tiers

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// If more events wait than the limit, the oldest are evicted, in programs as
// natively; the others wait until the end.
func TestFullJoinsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const limit, calls = 100, 150
	program := `
def main(o):
    enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
    calls = join([enter.where("id == 110").key("args[0] + 1000")], [exit.key("0")], limit = ` +
		strconv.Itoa(limit) + `)
    return [
        calls.agg(pairs = agg.count()),
        calls.unpaired("start").by("key", "reason").count(),
    ]
`
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
		kernel, native := run(t, l, "bpf", program), run(t, l, "perf", program)
		l.Do()
		a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		x, y := testkit.Tables(t, a.Stdout), testkit.Tables(t, b.Stdout)
		if got, want := cells(x[1]), cells(y[1]); len(want) != calls || !slices.EqualFunc(got, want, equal) {
			wrong = append(wrong, fmt.Sprintf("got %v, want %v", got, want))
		}
		for i := range x {
			if got, want := x[i].Loss["evicted"], y[i].Loss["evicted"]; got != want || want != calls-limit {
				wrong = append(wrong, fmt.Sprintf("got %d evicted, natively %d", got, want))
			}
		}
		return wrong
	})
}

// The oldest events are evicted while programs run, not the newest: of as many calls as may
// wait, all find the same earlier call.
func TestFullJoinsKeepTheNewest(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const limit, calls = 1000, 1400
	l := testkit.StartTarget(t, "-getppid", strconv.Itoa(calls))
	p := run(t, l, "bpf", `
def main(o):
    calls = tracepoint("raw_syscalls:sys_enter").where("id == 110")
    newest = calls.role("args[0] >= `+strconv.Itoa(calls-limit)+` ? 3 : 1")
    pairs = join([newest], key = "args[0]", cycle = True, limit = `+strconv.Itoa(limit)+`)
    return pairs.agg(pairs = agg.count())
`)
	l.Do()
	time.Sleep(1300 * time.Millisecond) // until ppscript has made room in the map
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	table := testkit.Tables(t, out.Stdout)[0]
	if n := table.Rows[0].Int(t, "pairs"); n != limit {
		t.Errorf("got %d pairs and losses %v, want %d, those of the newest", n, table.Loss, limit)
	}
}
