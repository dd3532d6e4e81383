package oracle

import (
	"fmt"
	"slices"
	"testing"

	"ppscript/tests/testkit"
)

// samples is the number of events that passed the conditions in front of a result, in each engine.
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
		sameSamples(t, condition, calledFrom+condition+`.by("id").count()`, calls, want)
	}
}

// The same holds after pairs and folds, if keys and values fail, and for several results and
// events.
func TestSamplesOfSeveralEvents(t *testing.T) {
	live(t, testkit.AMD64)
	const calls = 28
	const begin = `tracepoint("raw_syscalls:sys_enter").where("id == 110 && args[0] < 1000")`
	const end = `tracepoint("raw_syscalls:sys_exit").where("id == 110")`
	const pairs = `join([` + begin + `], [` + end + `], key = "tid")`
	const some = `.where("args[0] < 7")`
	const somePairs = `join([` + begin + some + `], [` + end + `], key = "tid")`
	const counted = `.by("comm").count()`
	for script, want := range map[string]int64{
		pairs + `.where("delay > 10000000000")` + counted:  2 * calls,
		pairs + `.where("delay > 1").agg(n = agg.count())`: 2 * calls,
		somePairs + counted: 7 + calls,
		"[" + pairs + counted + ", " + begin + counted + "]":                                    3 * calls,
		begin + `.by(lambda e: 1000 // e.args[0]).count()`:                                      calls,
		begin + `.agg(s = agg.sum(lambda e: 1000 // e.args[0]))`:                                calls,
		"[" + begin + some + counted + ", " + end + counted + "]":                               7 + calls,
		"e = " + begin + "\n[e" + some + counted + `, e.where("args[0] >= 20")` + counted + "]": 8,
		"e = " + begin + "\n[e" + some + counted + `, e.where("args[0] < 9")` + counted + "]":   9,
	} {
		sameSamples(t, script, script, calls, want)
	}
}

// sameSamples runs a script over calls of getppid in each engine.
func sameSamples(t *testing.T, name, script string, calls int, want int64) {
	for _, engine := range []string{"bpf", "perf", "interp"} {
		t.Run(engine+name, func(t *testing.T) {
			l := testkit.StartTarget(t, "-getppid", fmt.Sprint(calls))
			p := attach(t, l, "--engine", engine, "--format", "json", "-c", script)
			l.Do()
			output := p.Stop().Stdout
			type counts struct {
				Samples, Total_samples int64
			}
			tables := testkit.All[counts](t, output, "table")
			ends := testkit.All[counts](t, output, "end")
			if len(tables) == 0 || len(ends) != 1 {
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
