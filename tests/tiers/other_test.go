package tiers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// few has tables with more keys than rows: numbers, texts, both, values that are computed
// when rows are read, pairs with distributions; and a table without keys, which has the
// sums of all events.
const few = `
enter = tracepoint("raw_syscalls:sys_enter")
exit = tracepoint("raw_syscalls:sys_exit")

def main(o):
    n = agg.count()
    calls = join([enter], [exit], key = "tid")
    return [
        enter.agg(n = n, sum = agg.sum("id"), most = agg.max("id")),
        enter.by("id").agg(n = n, sum = agg.sum("id"), most = agg.max("id")),
        enter.by(lambda e: str(e.id)).agg(n = n, sum = agg.sum("id"), most = agg.max("id")),
        enter.by("_comm", "id").agg(n = n, sum = agg.sum("id"), most = agg.max("id")),
        enter.by(name = lambda e: syscall_name(e.id)).agg(n = n, sum = agg.sum("id"), most = agg.max("id")),
        calls.by("start.id").agg(n = n, sum = agg.sum("start.id"), most = agg.max("start.id"), p99 = agg.quantile("delay", 0.99)),
    ]
`

// However few rows a table may have, its sums are those of all events, in both tiers: keys
// without a row of their own share one, and are counted as evicted.
func TestOtherRowKeepsTotals(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	l := testkit.StartTarget(t, "-getppid", "2000", "-sleep", "20", "-fail", "30", "-copy", "10")
	l.OnOneCPU()
	tracers := map[string]*testkit.Process{
		"bpf":           run(t, l, "bpf", few, "--max-rows", "2"),
		"perf":          run(t, l, "perf", few, "--max-rows", "2"),
		"bpf, in parts": run(t, l, "bpf", few, "--max-rows", "2", "-i", "50ms"),
	}
	l.Do()
	l.Do()
	for name, p := range tracers {
		n, sum, most := map[string]int64{}, map[string]int64{}, map[string]int64{}
		for _, table := range testkit.Tables(t, p.Stop().Want(t, 0).Stdout) {
			var other int64
			for i, r := range table.Rows {
				if r.Int(t, "n") == 0 {
					continue // an interval without events
				}
				n[table.Name] += r.Int(t, "n")
				sum[table.Name] += r.Int(t, "sum")
				most[table.Name] = max(most[table.Name], r.Int(t, "most"))
				for _, cell := range r {
					if cell == "__other__" {
						other = r.Int(t, "n")
						if i != len(table.Rows)-1 {
							t.Errorf("%s: %s: row %d of %d has the other keys", name, table.Name, i,
								len(table.Rows))
						}
					}
				}
			}
			if evicted := table.Loss["evicted"]; other != evicted || len(table.Rows) > 3 {
				t.Errorf("%s: %s: got %d rows, %d events of other keys, %d evicted", name, table.Name,
					len(table.Rows), other, evicted)
			}
		}
		whole := fmt.Sprint(n["table"], sum["table"], most["table"])
		if len(n) != 6 || n["table"] < 4000 {
			t.Errorf("%s: got %v", name, n)
		}
		for table := range n {
			// A pair ends a little after its start is counted, so at the begin and the end
			// of the run there are halves.
			if table == "table6" && n["table"]-n[table] <= 8 {
				continue
			}
			if got := fmt.Sprint(n[table], sum[table], most[table]); got != whole {
				t.Errorf("%s: %s: got %s in all rows, want %s", name, table, got, whole)
			}
		}
	}
	l.End()
}

// fewShapes has histograms and stacks with more keys than rows, and the count of all events.
const fewShapes = `
enter = tracepoint("raw_syscalls:sys_enter")

def main(o):
    return [
        enter.agg(n = agg.count()),
        enter.by("id").hist("id"),
        enter.by("_comm", "id").hist("id"),
        enter.stack().stacks(by = ["id"]),
    ]
`

// Histograms by key and counts by stack have a last row for the keys without room,
// too.
func TestOtherOfHistogramsAndStacks(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	l := testkit.StartTarget(t, "-getppid", "1000", "-sleep", "20", "-fail", "30", "-copy", "10")
	tracers := map[string]*testkit.Process{
		"bpf":  run(t, l, "bpf", fewShapes, "--max-rows", "2"),
		"perf": run(t, l, "perf", fewShapes, "--max-rows", "2"),
	}
	l.Do()
	for name, p := range tracers {
		all, shapes := uint64(0), 0
		for _, line := range strings.Split(strings.TrimSpace(p.Stop().Want(t, 0).Stdout), "\n") {
			var r struct {
				Type string
				Data struct {
					Name         string
					Loss         struct{ Evicted uint64 }
					Rows, Stacks []struct {
						N, Count uint64
						Key      map[string]any
					}
				}
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			switch r.Type {
			case "table":
				all = r.Data.Rows[0].N
				continue
			case "histogram", "stacks":
				shapes++
			default:
				continue
			}
			var sum, other uint64
			for _, row := range append(r.Data.Rows, r.Data.Stacks...) {
				sum += row.Count
				if row.Key["id"] == "__other__" {
					other += row.Count
				}
			}
			if all < 1000 || sum != all || other == 0 || other != r.Data.Loss.Evicted {
				t.Errorf("%s: %s: got %d in all rows, %d of them of other keys, %d evicted; want %d", name,
					r.Data.Name, sum, other, r.Data.Loss.Evicted, all)
			}
		}
		if shapes != 3 {
			t.Errorf("%s: got %d results, want 3", name, shapes)
		}
	}
	l.End()
}
