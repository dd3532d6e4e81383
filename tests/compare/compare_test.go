// Package compare tests the comparison of two runs, on real ones: a program compared with itself does not
// differ, and a known difference is found and named first.
package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ppscript/runtime/result/compare"
	"ppscript/tests/formats"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// bound is how long a run may take on a busy machine.
const bound = 2 * time.Minute

func work(t *testing.T) string {
	t.Helper()
	testkit.Requires(t, testkit.GCC)
	testkit.Requires(t, testkit.Live...)
	path := filepath.Join(t.TempDir(), "work")
	testkit.Run(t, "gcc", "-O1", "-fno-omit-frame-pointer", "-o", path, "testdata/work.c").Want(t, 0)
	return path
}

func ppscript(t *testing.T, args ...string) testkit.Output {
	t.Helper()
	return testkit.StartFor(t, bound, append([]string{testkit.PPScript(t)}, args...)...).Wait().Want(t, 0)
}

// Intervals of one run are compared with other intervals of it: in a hundred comparisons, at most
// five find a false difference. Intervals drawn at random have all the noise of the whole run on
// both sides. Neighbouring intervals have the noise of their time: the machine's speed may have
// changed, but not the mix of calls.
func TestARunDoesNotDifferFromItself(t *testing.T) {
	program := work(t)
	file := filepath.Join(t.TempDir(), "a.json")
	ppscript(t, "syscalls", "-i", "50ms", "--format", "json", "-o", file, "--", program, "50", "1500")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var intervals [][]byte
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte(`{"v":1,"type":"table"`)) {
			intervals = append(intervals, bytes.Clone(line))
		}
	}
	const each = 25
	if len(intervals) < 2*each+2 {
		t.Fatalf("got %d intervals, want at least %d", len(intervals), 2*each+2)
	}
	intervals = intervals[1 : len(intervals)-1] // in which the program starts and ends
	random := rand.New(rand.NewPCG(5, 20))
	wrong, compared := 0, 0
	try := func(per compare.Per, sides [2][][]byte) {
		c := compare.New("a", "b")
		c.Per = per
		for side, lines := range sides {
			if err := c.Records(side, "a").Read(bytes.NewReader(bytes.Join(lines, nil))); err != nil {
				t.Fatal(err)
			}
		}
		r := c.Report()
		compared += r.Compared
		found := slices.DeleteFunc(slices.Clone(r.Changes[:r.Differ]), func(x compare.Change) bool {
			return per == compare.PerColumn && x.Column != "calls"
		})
		if len(found) > 0 {
			wrong++
			for _, x := range found {
				t.Logf("per %s: %s %s: %v, then %v, p %v", compare.Pers[per], x.Row, x.Column, x.Before,
					x.After, x.P)
			}
		}
	}
	for range 50 {
		order := random.Perm(len(intervals))
		var sides [2][][]byte
		for i := range 2 * each {
			sides[i%2] = append(sides[i%2], intervals[order[i]])
		}
		try(compare.PerSecond, sides)
		at := random.IntN(len(intervals) - 2*each + 1)
		try(compare.PerColumn, [2][][]byte{intervals[at : at+each], intervals[at+each : at+2*each]})
	}
	t.Logf("wrong in %d of 100 comparisons, of %d numbers each", wrong, compared/100)
	if wrong > 5 || compared < 1000 {
		t.Errorf("got a difference in %d of 100 comparisons of %d numbers in all, "+
			"want 5 at most of 1000 at least", wrong, compared)
	}
}

// A fifth more of one call is found, and named first; the records are as documented.
func TestMoreOfOneCallComesFirst(t *testing.T) {
	program, dir := work(t), t.TempDir()
	testkit.Again(t, func() (wrong []string) {
		run := func(name string, calls int, how ...string) string {
			file := filepath.Join(dir, name)
			ppscript(t, append(append([]string{"syscalls", "-i", "50ms", "-o", file}, how...), "--", program,
				fmt.Sprint(calls), "600")...)
			return file
		}
		before, same := run("a", 50, "--format", "json"), run("b", 50, "--format", "json")
		r, rows := diff(t, before, same, "--per", "share")
		if !r.Judged || slices.ContainsFunc(rows, func(x row) bool { return x.Column == "calls" }) {
			wrong = append(wrong, fmt.Sprintf("the same: got %+v %+v, want no difference of calls", r, rows))
		}
		r, rows = diff(t, before, run("c", 60, "--format", "json"), "--per", "share")
		// The machine's speed may have changed, which is a difference too.
		calls := slices.DeleteFunc(rows, func(x row) bool { return x.Column != "calls" })
		if len(calls) == 0 || calls[0].Row != "getppid(110)" || !(calls[0].Low > 5 && calls[0].High < 20) ||
			calls[0].P > 0.05 {
			return append(wrong, fmt.Sprintf("got %+v %+v, want more calls of getppid first", r, rows))
		}
		// Partial results are compared like results.
		r, rows = diff(t, run("d", 50, "--partials"), run("e", 60, "--partials"), "--per", "share")
		calls = slices.DeleteFunc(rows, func(x row) bool { return x.Column != "calls" })
		if len(calls) == 0 || calls[0].Row != "110" { // as in partial results
			wrong = append(wrong, fmt.Sprintf("parts: got %+v %+v, want more calls of getppid first", r,
				rows))
		}
		return wrong
	})
}

// A function that became slower by 30 % is found in recordings, and drawn.
func TestASlowerFunctionComesFirst(t *testing.T) {
	program, dir := work(t), t.TempDir()
	testkit.Requires(t, testkit.Samples)
	testkit.Again(t, func() (wrong []string) {
		record := func(name string, percent int) string {
			file := filepath.Join(dir, name)
			ppscript(t, "record", "-N", "-F", "4997", "-g", "-o", file, "--", program,
				fmt.Sprint(percent), "1200", "burn")
			return file
		}
		before, same, after := record("a.data", 100), record("b.data", 100), record("c.data", 130)
		if r, rows := diff(t, before, same, "--", "profile", "-g"); r.Differ > 0 || !r.Judged {
			wrong = append(wrong, fmt.Sprintf("the same: got %+v %+v, want no difference", r, rows))
		}
		svg := filepath.Join(dir, "diff.svg")
		r, rows := diff(t, before, after, "--flame-graph", svg, "--", "profile", "-g")
		if r.Differ == 0 || rows[0].Row != "parse" || rows[0].Contribution < 3 || rows[0].Contribution > 12 {
			wrong = append(wrong, fmt.Sprintf("got %+v %+v, want parse first", r, rows))
		}
		text, err := os.ReadFile(svg)
		if err != nil || !bytes.Contains(text, []byte("parse")) || !bytes.Contains(text, []byte("grew")) {
			wrong = append(wrong, fmt.Sprintf("the picture: %v, %.200s", err, text))
		}
		return wrong
	})
}

// A row is one of the table of changes.
type row struct {
	Row, Column                string
	Contribution, Low, High, P float64
	Before, After, Change      float64
	Differs                    bool
}

// A verdict is a record of type diff.
type verdict struct {
	Compared, Differ, Unjudged int
	Judged                     bool
	BeforeIntervals            int `json:"before_intervals"`
}

// diff compares two files, and checks that the records are as documented.
func diff(t *testing.T, before, after string, more ...string) (verdict, []row) {
	t.Helper()
	out := ppscript(t, append([]string{"diff", before, after, "--format", "json"}, more...)...).Stdout
	for _, wrong := range formats.Read(t).JSON(out) {
		t.Errorf("%s", wrong)
	}
	all := testkit.All[verdict](t, out, "diff")
	if len(all) != 1 {
		t.Fatalf("got %s, want one record diff", out)
	}
	var rows []row
	for _, raw := range testkit.All[json.RawMessage](t, out, "table") {
		var table struct{ Rows []row }
		if err := json.Unmarshal(raw, &table); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, table.Rows...)
	}
	return all[0], rows
}

// A run with a baseline: each interval is compared with it, and the whole run at
// the end.
func TestBaseline(t *testing.T) {
	program, dir := work(t), t.TempDir()
	saved := filepath.Join(dir, "a.json")
	ppscript(t, "syscalls", "-i", "50ms", "--format", "json", "-o", saved, "--", program, "50", "400")
	out := ppscript(t, "syscalls", "-i", "50ms", "--baseline", saved, "--", program, "50", "200").Stdout
	if n := strings.Count(out, "\nbaseline: "); n < 5 {
		t.Errorf("got %d intervals that are compared, want at least 5:\n%s", n, out)
	}
	if !strings.Contains(out, "\nbefore: "+saved+": ") || !strings.Contains(out, "\nafter:  this run: ") {
		t.Errorf("got\n%s\nwant a comparison of all of the run at its end", out)
	}
	// It starts 200 new calls a round, where there were 50.
	out = ppscript(t, "syscalls", "-i", "50ms", "--baseline", saved, "--format", "json", "--", program, "400",
		"200").Stdout
	for _, wrong := range formats.Read(t).JSON(out) {
		t.Errorf("%s", wrong)
	}
	all := testkit.All[verdict](t, out, "diff")
	if len(all) < 5 || all[len(all)-1].Differ == 0 {
		t.Errorf("got %+v, want eight times the calls of getppid to differ", all)
	}
}
