package explore

import (
	"fmt"
	"slices"
	"strings"

	b "ppscript/builtins"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"

	"go.starlark.net/starlark"
)

// resultBuiltins declares the methods of results.
func resultBuiltins() []*b.Builtin { return []*b.Builtin{resultTop(), resultSort(), resultSave()} }

const ran = counted + "\n"

func resultTop() *b.Builtin {
	return &b.Builtin{
		Name:     "top",
		Type:     "result",
		Group:    b.Workshop,
		Summary:  "The first rows, sorted by the last column unless sorted before.",
		Params:   []b.Param{{Name: "n", Type: b.Int, Required: true, Doc: "how many rows"}},
		Returns:  "result",
		Result:   "a copy with at most n rows; the number of the others is shown",
		Errors:   "n is less than 1; a log",
		Source:   computed,
		Cost:     "per row",
		Examples: []b.Example{{Code: ran + `len(run(x).top(2))`, Input: "trace.data", Output: "2"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n := int(c.Int("n"))
			if n < 1 {
				return nil, c.Errorf("n", "got %d, want at least 1", n)
			}
			r := *c.Receiver.(*Result)
			r.intervals = nil // a changed copy has no intervals
			switch {
			case r.table != nil:
				t := *r.table
				t.Rows = slices.Clone(t.Rows)
				if k := len(t.Columns); k > 0 && !r.sorted {
					if err := t.Sort(t.Columns[k-1].Name, true); err != nil {
						return nil, err
					}
				}
				t.Top(n)
				r.table = &t
			case r.hist != nil:
				h := *r.hist
				h.Rows = slices.Clone(h.Rows)
				h.Top(n)
				r.hist = &h
			case r.stacks != nil:
				s := *r.stacks
				s.Samples = slices.Clone(s.Samples)
				s.Sort()
				s.Top(n)
				r.stacks = &s
			default:
				return nil, c.Error("n", fmt.Errorf("a log has no largest rows"),
					"take the first lines: r.rows[:10]")
			}
			return &r, nil
		},
	}
}

func resultSort() *b.Builtin {
	return &b.Builtin{
		Name:    "sort",
		Type:    "result",
		Group:   b.Workshop,
		Summary: "The rows ordered by a column.",
		Params: []b.Param{
			{Name: "column", Type: b.String, Required: true, Doc: "name of the column"},
			{Name: "reverse", Type: b.Bool, Default: starlark.False, Doc: "largest first"},
		},
		Returns: "result",
		Result:  "a copy in that order",
		Errors:  "no such column; not a table",
		Source:  computed,
		Cost:    "per row",
		Examples: []b.Example{
			{Code: ran + `run(x).sort("count", reverse = True).rows[0].prev_comm`, Input: "trace.data", Output: `"sh"`},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			r := *c.Receiver.(*Result)
			if r.table == nil {
				return nil, c.Errorf("column", "this result is not a table")
			}
			r.intervals = nil
			t := *r.table
			t.Rows = slices.Clone(t.Rows)
			if err := (*result.Table).Sort(&t, c.String("column"), c.Bool("reverse")); err != nil {
				return nil, c.Error("column", err, "the columns are in r.columns")
			}
			r.table, r.sorted = &t, true
			return &r, nil
		},
	}
}

func resultSave() *b.Builtin {
	return &b.Builtin{
		Name:    "save",
		Type:    "result",
		Group:   b.Workshop,
		Summary: "Writes the result to a file, in the format that its name asks for.",
		Params: []b.Param{
			{
				Name: "file", Type: b.String, Required: true,
				Doc: strings.Join(render.Extensions(), ", ") + "; stacks also " +
					strings.Join(render.StackExtensions(), ", ") +
					"; histograms over intervals also .svg, a heat map",
			},
		},
		Returns: "None",
		Result:  "the file is written whole, or not at all; of a result over intervals it has each of them",
		Errors:  "another ending; the file cannot be written; in tests: not allowed",
		Source:  computed,
		Cost:    "per row",
		Examples: []b.Example{
			{Code: `r = run(tracepoint("sched:sched_switch").by("prev_comm").count()); r.save("switches.json")`, Live: true},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			r := c.Receiver.(*Result)
			if r.writing == nil {
				return nil, needs(c,
					"results are written in the REPL, or with: ppscript -o FILE --format json")
			}
			if err := r.save(r.writing(), c.String("file")); err != nil {
				return nil, c.Error("file", err, `write r.save("x.json")`)
			}
			return starlark.None, nil
		},
	}
}
