package results

import (
	"errors"
	"fmt"
	"slices"

	b "ppscript/builtins"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
)

const (
	computed = "computed in ppscript; any kernel; no privilege"
	perRow   = "per row of each table shown; none for events"
)

const demo = `t = tracepoint("sched:sched_switch").by("prev_comm").count()`

func didYouMean(name string, names []string) string { return diag.DidYouMean(name, names) }

// Builtins declares the methods of tables.
func Builtins() []*b.Builtin {
	return []*b.Builtin{
		sortBy(), top(), title(), units(), raw(), with(), text(), layout(), hide(), last(), totals(),
		pivot(), whole(), line(), linesBy(), packed(), toFile(),
	}
}

func sortBy() *b.Builtin {
	return &b.Builtin{
		Name: "sort", Type: "table", Group: b.Results, Summary: "Orders the rows by a column.",
		Params: []b.Param{
			{Name: "column", Type: b.String, Required: true, Doc: "name of the column"},
			{Name: "reverse", Type: b.Bool, Default: starlark.False, Doc: "largest first"},
		},
		Returns: "table", Result: "the rows in order; a second sort decides between equal rows of the first",
		Errors: "no such column", Source: computed, Cost: perRow,
		Examples: []b.Example{
			{Code: demo + "\n" + `t.sort("count", reverse = True)`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if err := hasColumn(c, "column", c.String("column")); err != nil {
				return nil, err
			}
			return change(c, func(v *view.View) error {
				v.Steps = append(v.Steps, view.Step{Sort: c.String("column"), Reverse: c.Bool("reverse")})
				return nil
			})
		},
	}
}

func top() *b.Builtin {
	return &b.Builtin{
		Name:     "top",
		Type:     "table",
		Group:    b.Results,
		Summary:  "Keeps the first rows, sorted by the last column unless sorted before.",
		Params:   []b.Param{{Name: "n", Type: b.Int, Required: true, Doc: "how many rows"}},
		Returns:  "table",
		Result:   "at most n rows; the number of the others is shown",
		Errors:   "n is less than 1",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: demo + "\n" + `t.top(10)`, Output: "<table of prev_comm, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			n := c.Int("n")
			if n < 1 {
				return nil, c.Errorf("n", "got %d, want at least 1", n)
			}
			g := c.Receiver.(*Table).Group
			return change(c, func(v *view.View) error {
				sorted := false
				for _, s := range v.Steps {
					sorted = sorted || s.Sort != ""
				}
				if !sorted && g != nil && len(g.Aggs) > 0 && !histogram(g) {
					v.Steps = append(v.Steps, view.Step{Sort: g.Aggs[len(g.Aggs)-1].Name, Reverse: true})
				}
				v.Steps = append(v.Steps, view.Step{Top: int(n)})
				return nil
			})
		},
	}
}

func histogram(g *plan.Group) bool {
	return g.Histogram()
}

func title() *b.Builtin {
	return &b.Builtin{
		Name:    "title",
		Type:    "table",
		Group:   b.Results,
		Summary: "Sets the title of the table, shown beside its date.",
		Params: []b.Param{
			{Name: "text", Type: b.String, Required: true, Doc: "the title; {samples} and {total} stand for the events of the interval and of the run"},
		},
		Returns: "table",
		Result:  "the table with its title",
		Errors:  "none",
		Source:  computed,
		Cost:    perRow,
		Examples: []b.Example{
			{Code: demo + "\n" + `t.title("who gave up the CPU")`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error { v.Title = c.String("text"); return nil })
		},
	}
}

func units() *b.Builtin {
	return &b.Builtin{
		Name:    "unit",
		Type:    "table",
		Group:   b.Results,
		Summary: "Chooses the unit in which columns are shown.",
		Params: []b.Param{
			{Name: "unit", Type: b.UnitType, Required: true, Doc: "such as us, ms, MiB"},
			{Name: "column", Type: b.String, Doc: "one column; else all that the unit fits"},
		},
		Returns:  "table",
		Result:   "numbers are divided for showing only",
		Errors:   "no column is measured in that kind of unit",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: demo + "\n" + `t.unit(ms)`, Output: "<table of prev_comm, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			name := c.String("column")
			if name != "" {
				if err := hasColumn(c, "column", name); err != nil {
					return nil, err
				}
			}
			return change(c, func(v *view.View) error { set(&v.Units, name, unitOf(c, "unit")); return nil })
		},
	}
}

func set[V any](m *map[string]V, k string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[k] = v
}

func raw() *b.Builtin {
	return &b.Builtin{
		Name:    "raw",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows columns as numbers, also where the kernel has names for them.",
		Params:  []b.Param{{Name: "column", Type: b.String, Rest: "*", Doc: "names of columns; none is all"}},
		Returns: "table",
		Result: "numbers, such as 2 where the kernel prints TCP_SYN_SENT. Without it, a column that is a field shows what the kernel prints: " +
			"names and flags of its print fmt, symbols of addresses of functions, IP addresses, devices as 254:1, what a system call returned as -2 ENOENT; JSON keeps the number beside it",
		Errors: "no such column",
		Source: computed,
		Cost:   perRow,
		Examples: []b.Example{
			{Code: `tracepoint("irq:softirq_entry").by("vec").count().raw("vec")`, Output: "<table of vec, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				if len(c.Rest) == 0 {
					set(&v.Raw, "", true)
				}
				for _, n := range c.Rest {
					name, _ := starlark.AsString(n)
					if err := hasColumn(c, "column", name); err != nil {
						return err
					}
					set(&v.Raw, name, true)
				}
				return nil
			})
		},
	}
}

func with() *b.Builtin {
	return &b.Builtin{
		Name:    "with_",
		Type:    "table",
		Group:   b.Results,
		Summary: "Adds columns that are computed from the others.",
		Params: []b.Param{
			{Name: "unit", Type: b.UnitType, Named: true, Doc: "unit of the new columns"},
			{Name: "column", Type: b.Func, Rest: "**", Doc: "name of the column = function of a row"},
		},
		Returns: "table",
		Result:  "the table with the columns at its end; a row has the columns as attributes",
		Errors:  "the column exists; the function fails",
		Source:  computed,
		Cost:    "one call of the function for each row shown",
		Examples: []b.Example{
			{Code: demo + "\n" + `t.with_(double = lambda r: 2 * r.count)`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				for _, kv := range c.KW {
					fn := rowCall(c, kv[1].(starlark.Callable))
					v.Steps = append(v.Steps, view.Step{
						With: string(kv[0].(starlark.String)), Fn: fn, Unit: unitOf(c, "unit"),
					})
				}
				return nil
			})
		},
	}
}

func text() *b.Builtin {
	return &b.Builtin{
		Name:    "text",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows the cells of columns through functions.",
		Params: []b.Param{
			{Name: "column", Type: b.Func, Rest: "**", Doc: "name of the column = function of a cell's value"},
		},
		Returns: "table",
		Result:  "what people see; JSON keeps the number beside it",
		Errors:  "no such column; the function fails",
		Source:  computed,
		Cost:    "one call of the function for each row shown",
		Examples: []b.Example{
			{Code: demo + "\n" + `t.text(prev_comm = lambda c: c.upper())`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				for _, kv := range c.KW {
					name := string(kv[0].(starlark.String))
					if err := hasColumn(c, "column", name); err != nil {
						return err
					}
					set(&v.Texts, name, cellFunc(c, kv[1].(starlark.Callable)))
				}
				return nil
			})
		},
	}
}

// Bounds on the arguments about a column, which are printed with each cell.
const (
	maxWidth    = 1000
	maxDecimals = 100
)

// ofColumn has the parameters of format that apply to one column.
var ofColumn = []string{"width", "left", "decimals", "sep", "share_of", "alarm", "clock", "title", "shown"}

func layout() *b.Builtin {
	return &b.Builtin{
		Name:    "format",
		Type:    "table",
		Group:   b.Results,
		Summary: "Says how text output arranges the table, or one of its columns.",
		Params: []b.Param{
			{Name: "column", Type: b.String, Doc: "the column to which width to shown apply"},
			{Name: "width", Type: b.Int, Named: true, Doc: "least width of the column"},
			{Name: "left", Type: b.Bool, Named: true, Doc: "align left, or right"},
			{Name: "decimals", Type: b.Int, Named: true, Doc: "digits after the point"},
			{Name: "sep", Type: b.String, Named: true, Doc: "text between the column before and this one"},
			{Name: "share_of", Type: b.String, Named: true, Doc: "column of which this one is a part: shows a percentage"},
			{Name: "alarm", Type: b.Bool, Named: true, Doc: "cells that are not zero are red"},
			{Name: "clock", Type: b.OneOf("day", "start"), Named: true, Doc: "how moments are shown: the time of day to the second, or seconds since the start; else as --time says"},
			{Name: "title", Type: b.String, Named: true, Doc: "text above the column, in place of its name and unit"},
			{Name: "shown", Type: b.Func, Named: true, Doc: "function of a cell's value: how it is shown, such as [003]"},
			{Name: "rule", Type: b.Bool, Named: true, Doc: "dashes under the header"},
			{Name: "header", Type: b.Bool, Named: true, Doc: "the header"},
			{Name: "date", Type: b.Bool, Named: true, Doc: "the line with date and title"},
			{Name: "upper", Type: b.Bool, Named: true, Doc: "the header in upper case"},
			{Name: "live", Type: b.Bool, Named: true, Doc: "on a terminal, each interval replaces the one before"},
		},
		Returns: "table",
		Result:  "the table with that layout; JSON and CSV do not change",
		Errors:  "no such column",
		Source:  computed,
		Cost:    perRow,
		Examples: []b.Example{
			{Code: demo + "\n" + `t.format("prev_comm", width = 20).format(rule = False)`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			name := c.String("column")
			if name != "" {
				if err := hasColumn(c, "column", name); err != nil {
					return nil, err
				}
				for _, p := range []struct {
					name string
					most int64
				}{{"width", maxWidth}, {"decimals", maxDecimals}} {
					if n := c.Int(p.name); c.Has(p.name) && (n < 0 || n > p.most) {
						return nil, c.Errorf(p.name, "got %d, want 0 to %d", n, p.most)
					}
				}
			} else if slices.ContainsFunc(ofColumn, c.Has) {
				return nil, c.Error("column", fmt.Errorf("missing, and an argument is about a column"),
					`write t.format("total", width = 16)`)
			}
			return change(c, func(v *view.View) error {
				off := func(param string, flag *bool) {
					if c.Has(param) {
						*flag = !c.Bool(param)
					}
				}
				off("rule", &v.Layout.NoRule)
				off("header", &v.Layout.NoHeader)
				off("date", &v.Layout.NoDate)
				v.Layout.Upper = v.Layout.Upper || c.Bool("upper")
				v.Live = v.Live || c.Bool("live")
				if name != "" {
					set(&v.Widths, name, width(c, v.Widths[name]))
				}
				return nil
			})
		},
	}
}

var clocks = map[string]result.Clock{"day": result.TimeOfDay, "start": result.SinceStart}

// width applies the arguments of a call of format to the layout of a column.
func width(c *b.Call, w view.Width) view.Width {
	if c.Has("width") {
		w.Min = int(c.Int("width"))
	}
	if c.Has("left") {
		w.Left, w.Right = c.Bool("left"), !c.Bool("left")
	}
	if c.Has("decimals") {
		n := int(c.Int("decimals"))
		w.Prec = &n
	}
	if c.Has("sep") {
		w.Sep = c.String("sep")
	}
	if c.Has("share_of") {
		w.ShareOf = c.String("share_of")
	}
	if c.Has("alarm") {
		w.Alarm = c.Bool("alarm")
	}
	if c.Has("clock") {
		w.Clock = clocks[c.String("clock")]
	}
	if c.Has("title") {
		w.Title = c.String("title")
	}
	if c.Has("shown") {
		w.Shape = cellFunc(c, c.Func("shown"))
	}
	return w
}

func hide() *b.Builtin {
	return &b.Builtin{
		Name:     "hide",
		Type:     "table",
		Group:    b.Results,
		Summary:  "Leaves columns out of the output; sorting and computing still see them.",
		Params:   []b.Param{{Name: "column", Type: b.String, Rest: "*", Doc: "names of columns"}},
		Returns:  "table",
		Result:   "the table without the columns",
		Errors:   "no such column",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: demo + "\n" + `t.hide("count")`, Output: "<table of prev_comm, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				for _, n := range c.Rest {
					name, _ := starlark.AsString(n)
					if err := hasColumn(c, "column", name); err != nil {
						return err
					}
					set(&v.Hidden, name, true)
				}
				return nil
			})
		},
	}
}

func last() *b.Builtin {
	return &b.Builtin{
		Name:    "last",
		Type:    "table",
		Group:   b.Results,
		Summary: "Moves a column to the end.",
		Params:  []b.Param{{Name: "column", Type: b.String, Required: true, Doc: "name of the column"}},
		Returns: "table",
		Result:  "the same columns in another order",
		Errors:  "no such column",
		Source:  computed,
		Cost:    perRow,
		Examples: []b.Example{
			{Code: demo + "\n" + `t.last("prev_comm")`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if err := hasColumn(c, "column", c.String("column")); err != nil {
				return nil, err
			}
			return change(c, func(v *view.View) error { v.Last = c.String("column"); return nil })
		},
	}
}

func totals() *b.Builtin {
	return &b.Builtin{
		Name:    "totals",
		Type:    "table",
		Group:   b.Results,
		Summary: "Adds a last row with the sums of the columns.",
		Params: []b.Param{
			{Name: "label", Type: b.String, Default: starlark.String("total"), Doc: "what its first cell says"},
		},
		Returns:  "table",
		Result:   "sums of all columns that hold numbers, keys excepted",
		Errors:   "none",
		Source:   computed,
		Cost:     perRow,
		Examples: []b.Example{{Code: demo + "\n" + `t.totals("all")`, Output: "<table of prev_comm, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				v.Steps = append(v.Steps, view.Step{Totals: c.String("label")})
				return noTotals(c, "label", v)
			})
		},
	}
}

func pivot() *b.Builtin {
	return &b.Builtin{
		Name:    "pivot",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows a matrix: a row for each value of one key, a column for each value of another one.",
		Params: []b.Param{
			{Name: "rows", Type: b.String, Required: true, Doc: "the key whose values are rows; other keys of the table come after it"},
			{Name: "columns", Type: b.String, Required: true, Doc: "the key whose values are columns"},
			{Name: "value", Type: b.String, Named: true, Doc: "the column whose values the cells show; by default the last one"},
		},
		Returns: "table",
		Result: "rows and columns in the order in which the table has them, at most 64 columns; a cell that the table lacks is empty. " +
			"Text and Markdown have the matrix; JSON, CSV, Parquet and metrics have the rows of the table, whose columns are always the same",
		Errors: "no such column, or the same one twice; a table with totals",
		Source: computed,
		Cost:   perRow,
		Examples: []b.Example{
			{Code: `tracepoint("sched:sched_wakeup").by("cpu", "target_cpu").count().pivot("cpu", "target_cpu")`, Output: "<table of cpu, target_cpu, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			p := &result.Pivot{Rows: c.String("rows"), Columns: c.String("columns"), Value: c.String("value")}
			if names := c.Receiver.(*Table).names(); p.Value == "" && len(names) > 0 {
				p.Value = names[len(names)-1]
			}
			for _, of := range [][2]string{{"rows", p.Rows}, {"columns", p.Columns}, {"value", p.Value}} {
				if err := hasColumn(c, of[0], of[1]); err != nil {
					return nil, err
				}
			}
			if p.Rows == p.Columns || p.Value == p.Rows || p.Value == p.Columns {
				err := fmt.Errorf("rows are of %s, columns of %s, cells of %s", p.Rows, p.Columns, p.Value)
				return nil, c.Error("columns", err,
					"give three columns: .by(\"a\", \"b\").count().pivot(\"a\", \"b\")")
			}
			return change(c, func(v *view.View) error {
				v.Layout.Pivot = p
				return noTotals(c, "rows", v)
			})
		},
	}
}

// noTotals is an error if a table has both totals and pivot, since a matrix has
// no row of totals.
func noTotals(c *b.Call, param string, v *view.View) error {
	sums := func(s view.Step) bool { return s.Totals != "" }
	if v.Layout.Pivot == nil || !slices.ContainsFunc(v.Steps, sums) {
		return nil
	}
	return c.Error(param, errors.New("a matrix has no row of totals"), "leave .totals() or .pivot() out")
}

func toFile() *b.Builtin {
	return &b.Builtin{
		Name:    "to_file",
		Type:    "table",
		Group:   b.Results,
		Summary: "Writes the table to a file, in place of the output.",
		Params: []b.Param{
			{Name: "path", Type: b.String, Required: true, Doc: "the file; its content stays, and each interval is appended"},
		},
		Returns: "table",
		Result:  "text, also with --format json",
		Errors:  "the file cannot be written, before anything is opened; a file that the command line does not name, without --allow write=DIR",
		Source:  computed,
		Cost:    "a write for each interval",
		Examples: []b.Example{
			{Code: demo + "\n" + `t.to_file("/tmp/switches")`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			if c.String("path") == "" {
				return nil, c.Errorf("path", "the name is empty, want a file")
			}
			return change(c, func(v *view.View) error { v.File = c.String("path"); return nil })
		},
	}
}
