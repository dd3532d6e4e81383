package tiers

import (
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/tests/testkit"
)

// Programs and perf show the times of a plan on the same clock of the kernel.
func TestKernelTimes(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const calls = 100
	l := testkit.StartTarget(t, "-getppid", "100")
	p := run(t, l, "bpf", `
def main(o):
    calls = tracepoint("raw_syscalls:sys_enter").where("id == 110 && time > 0").let(us = "(long)time / 1000")
    return [
        calls.agg(n = agg.count(), first = agg.min("us"), last = agg.max("us")),
        calls.by(slot = "us / 1000000000000").count(),
    ]
`)
	before := monotonic(t)
	l.Do()
	after := monotonic(t)
	out := p.Stop().Want(t, 0)
	l.End()
	tables := testkit.Tables(t, out.Stdout)
	row := tables[0].Rows[0]
	n, first, last := row.Int(t, "n"), row.Int(t, "first"), row.Int(t, "last")
	if n != calls || first < before || last > after || first > last {
		t.Errorf("got %d calls from %d to %d us, want %d from %d to %d", n, first, last, calls, before, after)
	}
	rows := tables[1].Rows
	if len(rows) != 1 || rows[0].Int(t, "count") != calls || rows[0].Int(t, "slot") != 0 {
		t.Errorf("got rows %v, want one slot with %d calls", rows, calls)
	}
}

// monotonic returns the current time in us.
func monotonic(t *testing.T) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano() / 1000
}
