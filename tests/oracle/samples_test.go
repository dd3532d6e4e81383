package oracle

import (
	"fmt"
	"slices"
	"testing"

	"ppscript/tests/testkit"
)

// Samples are the events that passed the conditions in front of a result, whichever engine counts.
func TestSamplesMeanTheSame(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 28
	const calledFrom = `tracepoint("raw_syscalls:sys_enter", filter = "id == 110")`
	for condition, want := range map[string]int64{
		``:                            calls,
		`.where("args[0] < 7")`:       7,
		`.where('comm == "xx"')`:      0,
		`.where("args[0] >= 0")`:      calls,
		`.where(lambda e: e.id != 0)`: calls,
		`.where(lambda e: 1000 // e.args[0] != 0)`: calls - 1, // it fails for one
	} {
		for _, engine := range []string{"bpf", "perf", "interp"} {
			t.Run(engine+condition, func(t *testing.T) {
				l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
				p := attach(t, l, "--engine", engine, "--format", "json", "-c",
					calledFrom+condition+`.by("id").count()`)
				l.Do()
				output := p.Stop().Stdout
				type counts struct {
					Samples, Total_samples int64
				}
				tables := testkit.All[counts](t, output, "table")
				ends := testkit.All[counts](t, output, "end")
				if len(tables) != 1 || len(ends) != 1 {
					t.Fatalf("got %d tables, %d ends, want one of each: %s", len(tables), len(ends), output)
				}
				got := []int64{tables[0].Samples, tables[0].Total_samples, ends[0].Samples}
				if !slices.Equal(got, []int64{want, want, want}) {
					t.Errorf("got %d samples of the table, in all, and at the end, want %d", got, want)
				}
				l.End()
			})
		}
	}
}
