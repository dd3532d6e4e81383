package oracle

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"ppscript/tests/testkit"
)

// letters counts the switches of each task and state.
const letters = `
load("@stdlib//lib/sched.star", "state_letter")

def main(o):
    return tracepoint("sched:sched_switch").by("prev_comm", "prev_state").count().text(prev_state = state_letter)
`

// The letters of states equal the kernel's own, from the print fmt that
// recordings contain and perf script uses, for tasks in each state. perf sched
// timehist --state is no oracle: perf 6.1 shows I as K, X as Z and Z as X.
func TestLettersOfStatesEqualThePrintFmt(t *testing.T) {
	testkit.Requires(t, testkit.Perf)
	script := filepath.Join(t.TempDir(), "letters.star")
	if err := os.WriteFile(script, []byte(letters), 0o644); err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)prev_comm=(.*) prev_pid=.* prev_state=(\S)\+? ==>`)
	seen := map[string]bool{}
	for _, name := range []string{"states.data", "parked.data"} {
		file := filepath.Join("..", "data", name)
		want := map[string]int64{}
		out := testkit.Run(t, "perf", "script", "-i", file, "-F", "trace").Want(t, 0).Stdout
		for _, m := range row.FindAllStringSubmatch(out, -1) {
			want[m[1]+" "+m[2]]++
			seen[m[2]] = true
		}

		ours := testkit.Run(t, testkit.PPScript(t), script, "--input", file, "--format", "json").Want(t, 0)
		got := map[string]int64{}
		for _, r := range testkit.Tables(t, ours.Stdout)[0].Rows {
			got[r.Text(t, "prev_comm")+" "+r.Text(t, "prev_state_text")] += r.Int(t, "count")
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	all := fmt.Sprint(slices.Sorted(maps.Keys(seen)))
	if want := "[D I P R S T X Z t]"; all != want {
		t.Errorf("recorded states: got %s, want %s", all, want)
	}
}
