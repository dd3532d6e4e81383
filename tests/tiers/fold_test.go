package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"ppscript/tests/testkit"
)

// both measures the time from a KVM exit to the next entry twice: with a join,
// and with a fold of the script.
const both = `
def step(s, e):
    if e.name == "kvm_exit":
        s.since = e.time
        s.reason = e.exit_reason
    elif s.since:
        emit(took = e.time - s.since, reason = s.reason)
        s.since = 0

def summary(s, by, took):
    return s.by(reason = by).agg(
        n = agg.count(), total = agg.sum(took), least = agg.min(took), most = agg.max(took)).sort("reason")

def main(o):
    exits, entries = tracepoint("kvm:kvm_exit"), tracepoint("kvm:kvm_entry")
    pairs = join([exits], [entries], key = "tid")
    mine = merge(exits, entries).fold("tid", {"since": 0, "reason": 0}, step)
    return [summary(pairs, "start.exit_reason", "delay"), summary(mine, "reason", "took")]
`

// TestFoldMeasuresWhatJoinDoes compares the two over a recording, in both
// tiers.
func TestFoldMeasuresWhatJoinDoes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "both.star")
	if err := os.WriteFile(file, []byte(both), 0o644); err != nil {
		t.Fatal(err)
	}
	var first string
	for _, engine := range []string{"perf", "interp"} {
		out := testkit.Run(t, testkit.PPScript(t), file, "--input", "../data/kvm.data", "--format", "json",
			"--engine", engine).Want(t, 0)
		tables := testkit.Tables(t, out.Stdout)
		if len(tables) != 2 || len(tables[0].Rows) < 3 {
			t.Fatalf("%s: got %d tables: %s%s", engine, len(tables), out.Stdout, out.Stderr)
		}
		joined, folded := fmt.Sprint(tables[0].Rows), fmt.Sprint(tables[1].Rows)
		if joined != folded {
			t.Errorf("%s:\njoin %s\nfold %s", engine, joined, folded)
		}
		if first == "" {
			first = folded
		} else if folded != first {
			t.Errorf("native      %s\ninterpreted %s", first, folded)
		}
	}
}
