package tiers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Silences in one run of a program are the same from records that programs send
// as from whole records. Each engine reads its own clock for an event.
func TestSilencesAgree(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	const (
		than   = 120_000 // ns
		differ = 20_000  // largest difference between the two times of an event, ns
		sleeps = 50
	)
	program := fmt.Sprintf(`
def main(o):
    return tracepoint("raw_syscalls:sys_enter").silences("_tid", than = %d * ns)
`, than)
	testkit.Again(t, func() (wrong []string) {
		l := testkit.StartTarget(t, "-sleep", fmt.Sprint(sleeps))
		l.OnOneCPU()
		var processes [2]*testkit.Process
		for i, engine := range []string{"bpf", "perf"} {
			processes[i] = run(t, l, engine, program)
		}
		l.Do()
		var rows [2][]testkit.Row
		for i, p := range processes {
			out := p.Stop().Want(t, 0)
			if sent := strings.Contains(out.Stderr, "sends projected records"); sent != (i == 0) {
				t.Errorf("engine %d: got sent by programs %v, want %v:\n%s", i, sent, i == 0, out.Stderr)
			}
			for _, table := range testkit.Tables(t, out.Stdout) {
				for _, r := range table.Rows {
					if r["ended"] == "yes" {
						rows[i] = append(rows[i], r)
					}
				}
			}
		}
		l.End()
		for i := range rows {
			slices.SortFunc(rows[i], func(a, b testkit.Row) int {
				return cmp.Or(cmp.Compare(a.Int(t, "_tid"), b.Int(t, "_tid")),
					cmp.Compare(a.Int(t, "since"), b.Int(t, "since")))
			})
		}
		if len(rows[0]) != len(rows[1]) || len(rows[0]) < sleeps {
			return []string{fmt.Sprintf("got %d silences sent by programs and %d of perf, want %d and more",
				len(rows[0]), len(rows[1]), sleeps)}
		}
		for i, a := range rows[0] {
			b := rows[1][i]
			d := a.Int(t, "silent") - b.Int(t, "silent")
			if a["_tid"] != b["_tid"] || d < -differ || d > differ {
				wrong = append(wrong, fmt.Sprintf("got %v sent by programs, and %v of perf", a, b))
			}
		}
		return wrong
	})
}
