// Package results declares the results that a script's main can return (tables,
// histograms, logs, stacks) and their methods, which set how results are shown.
// A result is an immutable value: each method returns a changed copy.
package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/view"
	"ppscript/runtime/script/value"
	"ppscript/runtime/text/unit"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A Table is a table or histogram that a run will fill. It is made by Group, with a new
// table for each interval, or by Rows, with a row for each event. The other of the two is
// nil.
type Table struct {
	Group *plan.Group
	Rows  *plan.Log
}

// A Log is a log that a run will write.
type Log struct{ Report plan.Report }

// A Why is the explanation of slow pairs that a run will make.
type Why struct{ Report plan.Report }

// A Reporter is a value that main may return as a result.
type Reporter interface {
	starlark.Value
	Plan() plan.Report
}

var (
	_ Reporter          = (*Table)(nil)
	_ Reporter          = (*Log)(nil)
	_ Reporter          = (*Why)(nil)
	_ starlark.HasAttrs = (*Table)(nil)
)

// Plan returns the report to run.
func (t *Table) Plan() plan.Report {
	if t.Rows != nil {
		return t.Rows
	}
	return t.Group
}
func (l *Log) Plan() plan.Report { return l.Report }

func (t *Table) String() string        { return "<table of " + t.columns() + ">" }
func (t *Table) Type() string          { return "table" }
func (t *Table) Freeze()               {} // methods copy
func (t *Table) Truth() starlark.Bool  { return true }
func (t *Table) Hash() (uint32, error) { return 0, errors.New("unhashable: table") }
func (l *Log) String() string          { return "<log>" }
func (l *Log) Type() string            { return "log" }
func (l *Log) Freeze()                 {}
func (l *Log) Truth() starlark.Bool    { return true }
func (l *Log) Hash() (uint32, error)   { return 0, errors.New("unhashable: log") }

// Plan returns the report to run.
func (w *Why) Plan() plan.Report { return w.Report }

func (w *Why) String() string        { return "<why>" }
func (w *Why) Type() string          { return "why" }
func (w *Why) Freeze()               {}
func (w *Why) Truth() starlark.Bool  { return true }
func (w *Why) Hash() (uint32, error) { return 0, errors.New("unhashable: why") }

// names returns the names of the columns.
func (t *Table) names() (names []string) {
	if t.Rows != nil {
		for _, v := range t.Rows.Fields {
			names = append(names, v.Name)
		}
		return names
	}
	for _, v := range t.Group.By {
		names = append(names, v.Name)
	}
	for _, a := range t.Group.Aggs {
		names = append(names, a.Name)
	}
	return names
}

func (t *Table) columns() string { return cmp.Or(strings.Join(t.names(), ", "), "nothing") }

// TableMethods has the methods of tables. It is filled at first use, since their implementations
// refer to it.
var TableMethods = sync.OnceValue(func() *b.MethodSet { return b.Methods("table", Builtins()) })

// Attr returns a method.
func (t *Table) Attr(name string) (starlark.Value, error) { return TableMethods().Attr(t, name) }

// AttrNames lists the methods.
func (t *Table) AttrNames() []string { return TableMethods().Names() }

// change applies fn to a copy of the receiver's view.
func change(c *b.Call, fn func(v *view.View) error) (starlark.Value, error) {
	t := *c.Receiver.(*Table)
	var v *view.View
	if t.Rows != nil {
		l, own := *t.Rows, *t.Rows.View
		t.Rows, l.View, v = &l, &own, &own
	} else {
		g := *t.Group
		t.Group, v = &g, &g.View
	}
	v.Steps = slices.Clone(v.Steps)
	v.Units, v.Texts, v.Widths, v.Hidden = maps.Clone(v.Units), maps.Clone(v.Texts), maps.Clone(v.Widths),
		maps.Clone(v.Hidden)
	v.Raw = maps.Clone(v.Raw)
	if err := fn(v); err != nil {
		return nil, err
	}
	if t.Rows != nil && !v.OneByOne() {
		return nil, c.Error(c.Builtin.Params[0].Name,
			errors.New("rows are shown one by one, when their events come"),
			`write .by(...) and .agg(...) for a table that is whole before it is shown`)
	}
	return &t, nil
}

// hasColumn is an error if the table lacks a column. It is checked when the
// script calls a method, not when the first table is complete.
func hasColumn(c *b.Call, param, name string) error {
	t := c.Receiver.(*Table)
	names := t.names()
	if t.Group != nil {
		for _, s := range t.Group.View.Steps {
			if s.With != "" {
				names = append(names, s.With)
			}
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	return c.Error(param, fmt.Errorf("no column %s%s", name, didYouMean(name, names)),
		"the columns are "+t.columns())
}

// rowCall wraps a function of the script that gets a row, a struct with the
// columns, and returns a value.
func rowCall(c *b.Call, f starlark.Callable) view.RowFunc {
	h := c.Host()
	f.Freeze()
	return func(names []string, row []event.Value) (event.Value, error) {
		v, err := h.Call(f, rowValue(names, row))
		if err != nil {
			return event.Value{}, err
		}
		return value.FromStarlark(v)
	}
}

// rowValue converts a row to a Starlark struct with the columns.
func rowValue(names []string, row []event.Value) starlark.Value {
	d := make(starlark.StringDict, len(names))
	for i, n := range names {
		d[n] = value.ToStarlark(row[i])
	}
	return starlarkstruct.FromStringDict(starlark.String("row"), d)
}

// textOf returns a string as it is, and any other value as Starlark prints it.
func textOf(v starlark.Value) string {
	if text, ok := starlark.AsString(v); ok {
		return text
	}
	return v.String()
}

// cellFunc wraps a function of the script that returns the text of a cell's
// value.
func cellFunc(c *b.Call, f starlark.Callable) view.CellFunc {
	h := c.Host()
	f.Freeze()
	return func(v event.Value) (string, error) {
		r, err := h.Call(f, value.ToStarlark(v))
		if err != nil {
			return "", err
		}
		return textOf(r), nil
	}
}

// unitOf returns a unit argument; the zero unit if it is absent.
func unitOf(c *b.Call, name string) unit.Unit {
	u, _ := c.Unit(name)
	return u
}
