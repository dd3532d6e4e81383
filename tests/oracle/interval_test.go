package oracle

import (
	"encoding/json"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// Tables have their begin and end, also if no event's time is read, in both engines.
func TestTablesHaveBeginAndEnd(t *testing.T) {
	live(t)
	for _, engine := range []string{"bpf", "perf"} {
		out := testkit.Run(t, testkit.PPScript(t), "--engine", engine, "--format", "json", "-c",
			`tracepoint("sched:sched_switch").count()`, "--", "sh", "-c", "sleep 0.1; sleep 0.1").
			Want(t, 0).Stdout
		var record struct {
			Data struct{ Begin, End, Samples int64 }
		}
		line, _, _ := strings.Cut(out, "\n")
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		table := record.Data
		passed := table.End - table.Begin
		if table.Samples == 0 || table.Begin <= 0 || passed < 100e6 || passed > 60e9 {
			t.Errorf("%s: got %d to %d with %d events, want the time of the run", engine, table.Begin,
				table.End, table.Samples)
		}
	}
}
