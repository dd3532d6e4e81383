package tiers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// pairsWithStacks are pairs whose stacks are used: in lines, and as keys of counts in
// ppscript.
const pairsWithStacks = `
def main(o):
    enter, exit = tracepoint("raw_syscalls:sys_enter"), tracepoint("raw_syscalls:sys_exit")
    calls = join([enter.stack()], [exit.stack(user = False)], key = "_tid")
    one = join([enter.stack()], [exit], key = "_tid").where("start.id != 110")
    return [
        calls.where("start.id == 110 && end.ret % 2 == start.args[0] % 2").log(),
        calls.by("start.id").count(),
        one.by("start.stack").agg(n = agg.count(), last = agg.last("start.id"), seen = agg.distinct("start.id")),
    ]
`

// The stacks of pairs that programs send are the same as natively.
func TestStacksOfPairsAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	type line struct {
		Event  string         `json:"event"`
		TID    int            `json:"tid"`
		Fields map[string]any `json:"fields"`
		Stack  []struct {
			Addr, Symbol string
		} `json:"stack"`
	}
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-getppid", "20", "-fail", "10", "-sleep", "5")
		l.OnOneCPU()
		before := l.Switches()
		kernel, native := run(t, l, "bpf", pairsWithStacks), run(t, l, "perf", pairsWithStacks)
		same := l.Switches() == before
		l.Do()
		a, b := kernel.Stop().Want(t, 0), native.Stop().Want(t, 0)
		l.End()
		if !strings.Contains(a.Stderr, "sends what matches") {
			t.Fatalf("got %s, want programs that send pairs", a.Stderr)
		}
		shown := func(output string) (list []string) {
			for _, e := range testkit.All[line](t, output, "event") {
				if len(e.Stack) == 0 {
					wrong = append(wrong, e.Event+" has no stack")
				}
				list = append(list, fmt.Sprint(e))
			}
			slices.Sort(list)
			return list
		}
		if x, y := shown(a.Stdout), shown(b.Stdout); !slices.Equal(x, y) || len(y) == 0 {
			wrong = append(wrong, fmt.Sprintf("got\n%q\nwant\n%q", x, y))
		}
		wrong = append(wrong, compareAll(t, testkit.Tables(t, a.Stdout), testkit.Tables(t, b.Stdout))...)
		if !same && len(wrong) > 0 {
			return []string{"the target's runtime did something while only one of them looked"}
		}
		return wrong
	})
}
