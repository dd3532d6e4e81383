// Package results declares the results of scripts: tables, histograms and
// logs, and the methods that say how they are shown. A result is a value: each
// method returns a changed copy.
package results

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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

// A Table is a table or histogram that a run will fill.
type Table struct{ Group *plan.Group }

// A Log is a log that a run will write.
type Log struct{ Report plan.Report }

// A Why is what a run will say of where the time of slow pairs went.
type Why struct{ Report plan.Report }

// Reporter is a value that main may return.
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

// Plan is the report to run.
func (t *Table) Plan() plan.Report { return t.Group }
func (l *Log) Plan() plan.Report   { return l.Report }

func (t *Table) String() string        { return "<table of " + columns(t.Group) + ">" }
func (t *Table) Type() string          { return "table" }
func (t *Table) Freeze()               {} // methods copy
func (t *Table) Truth() starlark.Bool  { return true }
func (t *Table) Hash() (uint32, error) { return 0, errors.New("unhashable: table") }
func (l *Log) String() string          { return "<log>" }
func (l *Log) Type() string            { return "log" }
func (l *Log) Freeze()                 {}
func (l *Log) Truth() starlark.Bool    { return true }
func (l *Log) Hash() (uint32, error)   { return 0, errors.New("unhashable: log") }

// Plan is the report to run.
func (w *Why) Plan() plan.Report { return w.Report }

func (w *Why) String() string        { return "<why>" }
func (w *Why) Type() string          { return "why" }
func (w *Why) Freeze()               {}
func (w *Why) Truth() starlark.Bool  { return true }
func (w *Why) Hash() (uint32, error) { return 0, errors.New("unhashable: why") }

func columns(g *plan.Group) string {
	s := ""
	for _, v := range g.By {
		s += v.Name + ", "
	}
	for _, a := range g.Aggs {
		s += a.Name + ", "
	}
	if s == "" {
		return "nothing"
	}
	return s[:len(s)-2]
}

// methods are found at first use: their implementations refer to them.
var methods = sync.OnceValue(func() *b.MethodSet { return b.Methods("table", Builtins()) })

// Attr returns a method.
func (t *Table) Attr(name string) (starlark.Value, error) { return methods().Attr(t, name) }

// AttrNames lists the methods.
func (t *Table) AttrNames() []string { return methods().Names() }

// change applies fn to a copy of the receiver's view.
func change(c *b.Call, fn func(v *view.View) error) (starlark.Value, error) {
	g := *c.Receiver.(*Table).Group
	v := &g.View
	v.Steps = slices.Clone(v.Steps)
	v.Units, v.Texts, v.Widths, v.Hidden = maps.Clone(v.Units), maps.Clone(v.Texts), maps.Clone(v.Widths),
		maps.Clone(v.Hidden)
	v.Raw = maps.Clone(v.Raw)
	if err := fn(v); err != nil {
		return nil, err
	}
	return &Table{&g}, nil
}

// hasColumn checks a column's name when the script says it, not when the
// first table is ready.
func hasColumn(c *b.Call, param, name string) error {
	g := c.Receiver.(*Table).Group
	var names []string
	for _, v := range g.By {
		names = append(names, v.Name)
	}
	for _, a := range g.Aggs {
		names = append(names, a.Name)
	}
	for _, s := range g.View.Steps {
		if s.With != "" {
			names = append(names, s.With)
		}
	}
	if slices.Contains(names, name) {
		return nil
	}
	return c.Error(param, fmt.Errorf("no column %s%s", name, didYouMean(name, names)),
		"the columns are "+columns(g))
}

// rowCall runs a script's function of a row: a struct with the columns.
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

// rowValue is a row as scripts see it.
func rowValue(names []string, row []event.Value) starlark.Value {
	d := make(starlark.StringDict, len(names))
	for i, n := range names {
		d[n] = value.ToStarlark(row[i])
	}
	return starlarkstruct.FromStringDict(starlark.String("row"), d)
}

// textOf is a value as it is shown.
func textOf(v starlark.Value) string {
	if text, ok := starlark.AsString(v); ok {
		return text
	}
	return v.String()
}

// cellFunc runs a script's function of one value.
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

// unitOf is a unit argument, or a zero one.
func unitOf(c *b.Call, name string) unit.Unit {
	u, _ := c.Unit(name)
	return u
}
