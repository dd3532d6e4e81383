package readers

import (
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// Slow pairs have a row for each of their events, with the time since the start.
func TestParquetHasSlowPairs(t *testing.T) {
	testkit.Requires(t, parquetNeeds...)
	t.Parallel()
	dir, records := playParquet(t, "load.data", "multi-trace", "-e", "sched:sched_wakeup//key=pid/",
		"-e", "sched:sched_switch//key=next_pid/", "--than", "1us", "--detail=samecpu,-10us")
	f := readParquet(t, filepath.Join(dir, "slow.parquet"))
	rows := f.Rows
	n, before := 0, 0
	next := func(r map[string]any, part string, e map[string]any) {
		t.Helper()
		if len(rows) == 0 {
			t.Fatalf("pair %d has no row for its %s", n, part)
		}
		row := rows[0]
		rows = rows[1:]
		want := map[string]any{"number": n, "part": part, "pair": r["pair"], "delay": r["delay"]}
		for _, key := range []string{
			"time", "comm", "tid", "cpu", "event", "since", "state", "ran", "hidden",
		} {
			if v, is := e[key]; is {
				want[key] = v
			}
		}
		fields, _ := e["fields"].(map[string]any)
		for key, v := range fields {
			if key == "comm" || key == "pid" {
				key += "_2" // a field of the event has this name
			}
			want[key] = v
		}
		for key, v := range want {
			if !same(row[key], v) {
				t.Fatalf("pair %d, %s: %s is %v, want %v", n, part, key, row[key], v)
			}
		}
	}
	for _, r := range records {
		if r["type"] != "detail" {
			continue
		}
		n++
		list := map[string][]map[string]any{}
		for _, e := range r["events"].([]any) {
			line := e.(map[string]any)
			part := line["part"].(string)
			list[part] = append(list[part], line)
		}
		before += len(list["before"])
		for _, e := range list["before"] {
			next(r, "before", e)
		}
		next(r, "start", r["start"].(map[string]any))
		for _, e := range list["between"] {
			next(r, "between", e)
		}
		if end, is := r["end"].(map[string]any); is {
			next(r, "end", end)
		}
		for _, e := range list["after"] {
			next(r, "after", e)
		}
	}
	if n < 50 || before == 0 || len(rows) != 0 {
		t.Errorf("got %d pairs with %d events before them, and %d rows more", n, before, len(rows))
	}
}
