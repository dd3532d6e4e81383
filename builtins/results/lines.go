package results

import (
	"slices"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/result/view"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/plain"

	"go.starlark.net/starlark"
)

// This file declares the methods that show a table as text that a function of
// the script returns.

func line() *b.Builtin {
	return &b.Builtin{
		Name:    "lines",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows each row as a line of text of the script's own.",
		Params: []b.Param{
			{Name: "fn", Type: b.Func, Required: true, Doc: "function of a row, which has the columns as attributes; or of a row and the list of all rows; an empty text is no line"},
			{Name: "header", Type: b.String, Default: starlark.String(""), Named: true, Doc: "line above the rows"},
		},
		Returns: "table",
		Result:  "only text output changes",
		Errors:  "the function fails",
		Source:  computed,
		Cost:    "one call of the function for each row shown",
		Examples: []b.Example{
			{Code: demo + "\n" + `t.lines(lambda r: fmt("{} {}", r.prev_comm, r.count))`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error {
				v.Row, v.Layout.HeaderText = lineCall(c, c.Func("fn")), c.String("header")
				return nil
			})
		},
	}
}

func linesBy() *b.Builtin {
	key := b.Or(b.String, b.ListOf(b.String), b.Func)
	return &b.Builtin{
		Name:    "lines_by",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows rows that have something in common as a line of text of the script's own.",
		Params: []b.Param{
			{Name: "key", Type: key, Required: true, Doc: "the column, or columns, in which the rows are equal; or a function of a row; [] for one text of all rows"},
			{Name: "fn", Type: b.Func, Required: true, Doc: "function of the list of these rows, which have the columns as attributes; or of it and the list of all rows; an empty text is no line"},
			{Name: "header", Type: b.String, Default: starlark.String(""), Named: true, Doc: "line above the rows"},
		},
		Returns: "table",
		Result:  "lines in the order of their first rows; only text output changes",
		Errors:  "no such column; a function fails",
		Source:  computed,
		Cost:    "one call of the function for each line, and of key for each row",
		Examples: []b.Example{{
			Code: `t = tracepoint("sched:sched_switch").by("cpu", "prev_comm").count()
t.lines_by("cpu", lambda rows: "%d: %d switches" % (rows[0].cpu, sum([r.count for r in rows])))`,
			Output: "<table of cpu, prev_comm, count>"}},
		Impl: func(c *b.Call) (starlark.Value, error) {
			columns := c.Strings("key")
			for _, name := range columns {
				if err := hasColumn(c, "key", name); err != nil {
					return nil, err
				}
			}
			return change(c, func(v *view.View) error {
				v.Row, v.Layout.HeaderText = groupCall(c, keyOf(c, columns), c.Func("fn")), c.String("header")
				return nil
			})
		},
	}
}

// keyOf returns a function that returns the group of a row: the argument key if
// that is a function, else the cells of the columns.
func keyOf(c *b.Call, columns []string) func(row starlark.Value) (starlark.Value, error) {
	if f := c.Func("key"); f != nil {
		h := c.Host()
		f.Freeze()
		return func(row starlark.Value) (starlark.Value, error) { return h.Call(f, row) }
	}
	return func(row starlark.Value) (starlark.Value, error) {
		key := make(starlark.Tuple, len(columns))
		for i, name := range columns {
			cell, err := row.(starlark.HasAttrs).Attr(name)
			if err != nil {
				return nil, err
			}
			key[i] = cell
		}
		return key, nil
	}
}

// groupCall wraps a function of the script that returns a line for the rows of
// one key. The function also gets all rows if it has a second parameter.
func groupCall(c *b.Call, key func(row starlark.Value) (starlark.Value, error),
	f starlark.Callable) view.LinesFunc {
	h := c.Host()
	f.Freeze()
	both := wantsAll(f)
	return func(names []string, rows [][]event.Value) ([]string, error) {
		all := rowList(names, escapedRows(rows))
		groups := starlark.NewDict(len(rows))
		var first []int // index of the first row of each group
		for i := range rows {
			k, err := key(all.Index(i))
			if err != nil {
				return nil, err
			}
			members, known, err := groups.Get(k)
			if err != nil {
				return nil, diag.Errorf(diag.Run, "table.lines_by", "key", "%w", err).
					WithHint("let the function return a number, a text or a tuple of them")
			}
			if !known {
				members = &starlark.List{}
				first = append(first, i)
				if err := groups.SetKey(k, members); err != nil {
					return nil, err
				}
			}
			if err := members.(*starlark.List).Append(all.Index(i)); err != nil {
				return nil, err
			}
		}

		lines := make([]string, len(rows))
		for i, group := range groups.Items() {
			args := []starlark.Value{group[1]}
			if both {
				args = append(args, all)
			}
			r, err := h.Call(f, args...)
			if err != nil {
				return nil, err
			}
			lines[first[i]] = textOf(r)
		}
		return lines, nil
	}
}

func packed() *b.Builtin {
	return &b.Builtin{
		Name:    "packed",
		Type:    "table",
		Group:   b.Results,
		Summary: "Shows the whole table as a text of the script's own, on a terminal where it fits.",
		Params: []b.Param{
			{Name: "fn", Type: b.Func, Required: true, Doc: "function of the list of all rows, which have the columns as attributes; returns the lines"},
		},
		Returns: "table",
		Result:  "pipes, files and narrow terminals get the table as it is",
		Errors:  "the function fails",
		Source:  computed,
		Cost:    "one call of the function for each table shown",
		Examples: []b.Example{
			{Code: demo + "\n" + `t.packed(lambda rows: " ".join(["%s:%d" % (r.prev_comm, r.count) for r in rows]))`, Output: "<table of prev_comm, count>"},
		},
		Impl: func(c *b.Call) (starlark.Value, error) {
			return change(c, func(v *view.View) error { v.Pack = packCall(c, c.Func("fn")); return nil })
		},
	}
}

// lineCall wraps a function of the script that returns a line for a row. The
// function also gets all rows if it has a second parameter.
func lineCall(c *b.Call, f starlark.Callable) view.LinesFunc {
	h := c.Host()
	f.Freeze()
	both := wantsAll(f)
	return func(names []string, rows [][]event.Value) ([]string, error) {
		all := rowList(names, escapedRows(rows))
		lines := make([]string, len(rows))
		for i := range rows {
			args := []starlark.Value{all.Index(i)}
			if both {
				args = append(args, all)
			}
			r, err := h.Call(f, args...)
			if err != nil {
				return nil, err
			}
			lines[i] = textOf(r)
		}
		return lines, nil
	}
}

// wantsAll reports that a function has a second parameter, for all rows.
func wantsAll(f starlark.Callable) bool {
	fn, ok := f.(*starlark.Function)
	return ok && fn.NumParams() > 1
}

// packCall wraps a function of the script that returns a text for all rows.
func packCall(c *b.Call, f starlark.Callable) view.PackFunc {
	h := c.Host()
	f.Freeze()
	return func(names []string, rows [][]event.Value) (string, error) {
		r, err := h.Call(f, rowList(names, escapedRows(rows)))
		if err != nil {
			return "", err
		}
		return textOf(r), nil
	}
}

// escapedRows returns rows for functions that format them as lines: line ends and
// control characters in cells are escaped, so that text from elsewhere cannot begin a
// line.
func escapedRows(rows [][]event.Value) [][]event.Value {
	clean := func(v event.Value) (event.Value, bool) {
		if v.Kind != event.StrValue {
			return v, false
		}
		text := v.String()
		c := plain.Line(text)
		return event.StrOf(c), c != text
	}
	out := slices.Clone(rows)
	for i, row := range rows {
		for j := range row {
			if c, changed := clean(row[j]); changed {
				if &out[i][0] == &row[0] {
					out[i] = slices.Clone(row)
				}
				out[i][j] = c
			}
		}
	}
	return out
}

// rowList converts rows to a frozen Starlark list of structs.
func rowList(names []string, rows [][]event.Value) *starlark.List {
	values := make([]starlark.Value, len(rows))
	for i, row := range rows {
		values[i] = rowValue(names, row)
	}
	all := starlark.NewList(values)
	all.Freeze()
	return all
}
