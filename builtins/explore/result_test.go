package explore

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"ppscript/runtime/event"
	"ppscript/runtime/output/chart"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// counts is a result with a row for each text, and their numbers.
func counts(loss event.Loss, rows ...any) *Result {
	t := &result.Table{Meta: result.Meta{Title: "calls", Samples: 9, Loss: loss},
		Columns: []result.Column{{Name: "comm", Kind: result.KeyColumn}, {Name: "count"}}}
	for i := 0; i < len(rows); i += 2 {
		t.Rows = append(t.Rows, []event.Value{event.StrOf(rows[i].(string)),
			event.IntOf(int64(rows[i+1].(int)))})
	}
	return &Result{name: "table", meta: t.Meta, table: t}
}

// evaluate is what an expression of r gives, as text.
func evaluate(t *testing.T, r *Result, text string) string {
	t.Helper()
	v, err := starlark.EvalOptions(&syntax.FileOptions{}, &starlark.Thread{Name: "test"}, "test", text,
		starlark.StringDict{"r": r})
	if err != nil {
		return "error: " + err.Error()
	}
	return v.String()
}

// TestTables checks that results are sequences of rows; methods give copies, and say what they
// cannot do.
func TestTables(t *testing.T) {
	r := counts(event.Loss{Lost: 3}, "sh", 5, "cat", 20, "ls", 1)
	f := func(text, want string) {
		t.Helper()
		if got := evaluate(t, r, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	f(`[(x.comm, x.count) for x in r]`, `[("sh", 5), ("cat", 20), ("ls", 1)]`)
	f(`[x.comm for x in r.top(2).rows]`, `["cat", "sh"]`)
	f(`[x.comm for x in r.sort("comm").top(2)]`, `["cat", "ls"]`) // the order that was chosen stays
	f(`[x.count for x in r.sort("count")]`, `[1, 5, 20]`)
	f(`[x.count for x in r]`, `[5, 20, 1]`)
	f(`(len(r), bool(r), r.columns, r.name, r.title, r.samples)`,
		`(3, True, ["comm", "count"], "table", "calls", 9)`)
	f(`(r.loss.lost, r.loss.dropped)`, `(3, 0)`)
	if got := r.Describe(); got != "a result, table of 3 rows: comm, count" {
		t.Errorf("got %q", got)
	}
	for text, want := range map[string]string{
		`r.top(0)`: "got 0, want at least 1", `r.sort("none")`: "none", `r.save("x.json")`: "not possible here",
	} {
		if got := evaluate(t, r, text); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want an error with %q", text, got, want)
		}
	}
	if evaluate(t, counts(event.Loss{}), "bool(r)") != "False" {
		t.Error("no rows: got true")
	}
}

// TestHistogramsAndStacks checks that bounds of buckets have the unit of the histogram; the rows of
// stacks have their functions.
func TestHistogramsAndStacks(t *testing.T) {
	f := func(r *Result, text, want string) {
		t.Helper()
		if got := evaluate(t, r, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	h := &Result{hist: result.NewHistogram(result.Meta{}, []result.Column{{Name: "cpu"}},
		result.Column{Unit: unit.US}, []result.KeyDistribution{{Key: []event.Value{event.IntOf(2)},
			Distribution: result.Distribution{
				Buckets: []result.Bucket{{Lo: 1000, Hi: 2000, Count: 4}, {Lo: 2000, Hi: 4000, Count: 6}}}}})}
	f(h, `[(x.cpu, x.total, x.buckets) for x in r]`, `[(2, 10, [(1us, 2us, 4), (2us, 4us, 6)])]`)
	f(h, `r.columns`, `["buckets", "cpu", "total"]`)
	s := &Result{stacks: &result.Stacks{Value: "bytes", Samples: []result.StackSample{
		{CallStack: result.StackOf(&result.Frame{Symbol: "inner"}, &result.Frame{Symbol: "outer"}), Count: 3, Value: 30},
		{Count: 7, Value: 1}}}}
	f(s, `[(x.frames, x.count, x.bytes) for x in r]`, `[(["inner", "outer"], 3, 30), ([], 7, 1)]`)
	f(s, `[x.count for x in r.top(1)]`, `[3]`) // by bytes
	if got := evaluate(t, s, `r.sort("count")`); !strings.Contains(got, "not a table") {
		t.Errorf("stacks in an order: got %s", got)
	}
}

// TestSave checks that files have the format that their names ask for, or are not made.
func TestSave(t *testing.T) {
	r := counts(event.Loss{}, "sh", 5, "cat", 20)
	r.writing = t.Context
	dir := t.TempDir()
	for name, want := range map[string]string{
		"x.csv": "comm,count", "x.json": `"rows":[{"comm":"sh","count":5}`, "x.md": "| sh", "x.txt": "sh",
	} {
		path := filepath.Join(dir, name)
		if err := r.save(context.Background(), path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if text, _ := os.ReadFile(path); !strings.Contains(string(text), want) {
			t.Errorf("%s: got %q, want %q in it", name, text, want)
		}
	}
	for name, want := range map[string]string{"x.svg": "only stacks", "x.doc": "want a name that ends in"} {
		path := filepath.Join(dir, name)
		if err := r.save(context.Background(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: the file is there", name)
		}
	}
}

// Drawings have the largest rows, say how many more there are, and what was lost.
func TestPlots(t *testing.T) {
	draw := func(r *Result, column string, rows int) (string, error) {
		return (&plotter{of: r, column: column, rows: rows, options: chart.Options{Width: 60,
			Height: 10}}).draw()
	}
	r := counts(event.Loss{Lost: 3}, "sh", 5, "cat", 20, "ls", 1)
	text, err := draw(r, "", 2)
	if err != nil {
		t.Fatal(err)
	}
	cat, sh := strings.Index(text, "cat"), strings.Index(text, "sh")
	for _, want := range []string{"count by comm", "(1 more rows)\n", "not among them: 3 lost\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
	if cat < 0 || sh < cat || strings.Contains(text, "ls ") {
		t.Errorf("got %q, want cat, then sh, and no more", text)
	}
	for column, want := range map[string]string{"comm": "has no numbers", "none": "none"} {
		if _, err := draw(r, column, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("column %s: got %v, want %q", column, err, want)
		}
	}
	if text, err := draw(counts(event.Loss{}), "", 2); err != nil || text != "no rows\n" {
		t.Errorf("no rows: got %q, %v", text, err)
	}
	if _, err := draw(&Result{}, "", 2); err == nil {
		t.Error("a log: got a drawing")
	}
	// Over intervals there is a line for each key, those with the largest sums.
	over := counts(event.Loss{}, "sh", 5)
	over.intervals = []*Result{counts(event.Loss{Lost: 1}, "sh", 5, "cat", 1), counts(event.Loss{Lost: 1},
		"ls", 9)}
	text, err = draw(over, "", 2)
	if err != nil || !strings.Contains(text, "sh") || !strings.Contains(text,
		"ls") || strings.Contains(text, "cat") ||
		!strings.Contains(text, "(1 more)\n") || !strings.Contains(text, "2 lost") {
		t.Errorf("intervals: got %q, %v, want lines of ls and sh, one more, 2 lost", text, err)
	}
}
