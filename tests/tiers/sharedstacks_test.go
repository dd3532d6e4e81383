package tiers

import (
	"fmt"
	"testing"

	"ppscript/tests/testkit"
)

// If threads on several CPUs enter and leave calls of the same stack at the same time, none is
// lost: each return ends an entry, or is counted as lost.
func TestSharedStacksLoseNone(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64, testkit.BTF)...)
	const calls, cpus = 30000, 2
	l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls), "-cpus", fmt.Sprint(cpus))
	p := run(t, l, "bpf", `
def main(o):
    enter = tracepoint("raw_syscalls:sys_enter").where("id == 110")
    exit = tracepoint("raw_syscalls:sys_exit").where("id == 110")
    calls = join([enter, exit], key = "_pid", impl = "nested")
    return [calls.agg(n = agg.count(), deepest = agg.max("depth")), calls.unpaired().log()]
`)
	l.Do()
	out := p.Stop().Want(t, 0)
	l.End()
	table := testkit.Tables(t, out.Stdout)[0]
	n, lost := table.Rows[0].Int(t, "n"), int64(table.Loss["lost"])
	alone := int64(len(testkit.Events(t, out.Stdout)))
	if want := int64(cpus * calls); n > want || n+lost < want || lost > want/10 || alone > lost {
		t.Errorf("got %d pairs, %d lost, %d alone; want %d pairs", n, lost, alone, want)
	}
	if got := table.Rows[0].Int(t, "deepest"); got < 1 {
		t.Errorf("got calls of depth %d, want that two threads were in calls at a time", got)
	}
}
