package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"ppscript/runtime/plan"
	"slices"
	"strings"
	"sync"

	b "ppscript/builtins"
	"ppscript/runtime/event"
	"ppscript/runtime/output/chart"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/script/value"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A Result is the value that run returns: a result with its contents. Its
// methods return changed copies.
type Result struct {
	name    string
	meta    result.Meta
	options render.Options
	sorted  bool // the user chose the order of the rows
	// writing returns the context in which save writes files; it ends at
	// Ctrl-C. Nil: save is not allowed.
	writing func() context.Context
	// permit is called for each file of save; nil permits all.
	permit func(plan.Use) error

	// One of these is set; none for a log without events.
	table  *result.Table
	hist   *result.Table // a histogram
	stacks *result.Stacks
	log    *log
	why    *causesView
	// intervals has the results of all intervals of a run with intervals, oldest first. The result
	// itself is then the last one.
	intervals []*Result
}

// A causesView is the explanation of a Why, with its causes as a table.
type causesView struct {
	*result.Why
	table *result.Table
}

var (
	_ starlark.HasAttrs = (*Result)(nil)
	_ starlark.Sequence = (*Result)(nil)
)

// String returns the result as text output shows it.
func (r *Result) String() string {
	text, err := r.render("text", false)
	if err != nil {
		return fmt.Sprintf("<result: %v>", err)
	}
	return strings.TrimRight(string(text), "\n")
}
func (r *Result) Type() string          { return "result" }
func (r *Result) Freeze()               {}
func (r *Result) Truth() starlark.Bool  { return r.Len() > 0 }
func (r *Result) Hash() (uint32, error) { return 0, errors.New("unhashable: result") }

// Describe returns a text with the kind and the size of the result.
func (r *Result) Describe() string {
	shape := "log"
	switch {
	case r.table != nil:
		shape = "table"
	case r.hist != nil:
		shape = "histogram"
	case r.stacks != nil:
		shape = "stacks"
	}
	text := fmt.Sprintf("a result, %s of %d rows", shape, r.Len())
	if r.table != nil {
		text += ": " + strings.Join(r.table.Names(), ", ")
	}
	return text
}

// Len returns the number of rows.
func (r *Result) Len() int {
	switch {
	case r.table != nil:
		return len(r.table.Rows)
	case r.hist != nil:
		return len(r.hist.Rows)
	case r.stacks != nil:
		return len(r.stacks.Samples)
	case r.log != nil:
		return len(r.log.rows)
	}
	return 0
}

// Iterate returns an iterator over the rows.
func (r *Result) Iterate() starlark.Iterator { return r.rows().Iterate() }

// rows returns the rows as structs.
func (r *Result) rows() *starlark.List {
	var out []starlark.Value
	switch {
	case r.table != nil:
		names := r.table.Names()
		for _, row := range r.table.Rows {
			d := starlark.StringDict{}
			for i, n := range names {
				if i < len(row) {
					d[n] = value.ToStarlark(row[i])
				}
			}
			out = append(out, starlarkstruct.FromStringDict(starlark.String("row"), d))
		}
	case r.hist != nil:
		for _, row := range r.hist.Rows {
			out = append(out, r.bucketRow(row))
		}
	case r.stacks != nil:
		for i := range r.stacks.Samples {
			out = append(out, r.stackRow(&r.stacks.Samples[i]))
		}
	case r.log != nil:
		out = slices.Clone(r.log.rows)
	}
	list := starlark.NewList(out)
	list.Freeze()
	return list
}

func keysOf(columns []result.Column, key []event.Value) starlark.StringDict {
	d := starlark.StringDict{}
	for i, v := range key {
		if i < len(columns) {
			d[columns[i].Name] = value.ToStarlark(v)
		}
	}
	return d
}

func (r *Result) bucketRow(row []event.Value) starlark.Value {
	at := r.hist.Histogram()
	value := &r.hist.Columns[at]
	counts := value.Distribution(row[at])
	d := keysOf(r.hist.Columns[:at], row[:at])
	var buckets []starlark.Value
	for _, k := range counts.Buckets {
		buckets = append(buckets, starlark.Tuple{bound(value, k.Lo), bound(value, k.Hi),
			starlark.MakeUint64(k.Count)})
	}
	d["buckets"], d["total"] = starlark.NewList(buckets), starlark.MakeUint64(counts.Total())
	return starlarkstruct.FromStringDict(starlark.String("row"), d)
}

// bound returns the bound of a bucket as a duration, a size or an int,
// depending on the column's unit.
func bound(c *result.Column, n int64) starlark.Value {
	switch c.Unit.Base {
	case "ns":
		return value.Duration(n)
	case "B":
		return value.Size(n)
	}
	return starlark.MakeInt64(n)
}

func (r *Result) stackRow(s *result.StackSample) starlark.Value {
	d := keysOf(r.stacks.Keys, s.Key)
	frames := make([]starlark.Value, len(s.Frames))
	for i, f := range s.Frames {
		frames[i] = starlark.String(f.Symbol)
	}
	d["frames"], d["count"] = starlark.NewList(frames), starlark.MakeUint64(s.Count)
	if r.stacks.Value != "" {
		d[r.stacks.Value] = starlark.MakeInt64(s.Value)
	}
	return starlarkstruct.FromStringDict(starlark.String("row"), d)
}

// loss returns a struct with the counts of all kinds of loss.
func (r *Result) loss() starlark.Value {
	l := r.meta.Loss
	d := starlark.StringDict{}
	for _, c := range l.Counts() {
		d[c.Name] = starlark.MakeUint64(c.N)
	}
	return starlarkstruct.FromStringDict(starlark.String("loss"), d)
}

// columns returns the names of the columns.
func (r *Result) columns() *starlark.List {
	var out []starlark.Value
	if r.table != nil {
		for _, n := range r.table.Names() {
			out = append(out, starlark.String(n))
		}
	} else if rows := r.rows(); rows.Len() > 0 {
		for _, n := range rows.Index(0).(starlark.HasAttrs).AttrNames() {
			out = append(out, starlark.String(n))
		}
	}
	return starlark.NewList(out)
}

// attributes has the names of a result's attributes that are not methods.
var attributes = []string{"columns", "intervals", "loss", "name", "rows", "samples", "text", "title"}

var resultMethods = sync.OnceValue(func() *b.MethodSet { return b.Methods("result", resultBuiltins()) })

// Attr returns an attribute or a method.
func (r *Result) Attr(name string) (starlark.Value, error) {
	switch name {
	case "rows":
		return r.rows(), nil
	case "columns":
		return r.columns(), nil
	case "intervals":
		list := []starlark.Value{}
		for _, x := range r.intervals {
			list = append(list, x)
		}
		return starlark.NewList(list), nil
	case "loss":
		return r.loss(), nil
	case "samples":
		return starlark.MakeUint64(r.meta.Samples), nil
	case "name":
		return starlark.String(r.name), nil
	case "title":
		return starlark.String(r.meta.Title), nil
	case "text":
		text, err := r.render("text", false)
		return starlark.String(text), err
	}
	return resultMethods().Attr(r, name)
}

// AttrNames lists the attributes and methods.
func (r *Result) AttrNames() []string {
	return append(slices.Clone(attributes), resultMethods().Names()...)
}

// render renders the result in a format. With all, it renders all of its
// intervals.
func (r *Result) render(format string, all bool) ([]byte, error) {
	if r.log != nil {
		f := r.log.formats[format]
		if err := f.out.Flush(); err != nil {
			return nil, err
		}
		text := bytes.Clone(f.text.Bytes())
		if r.log.omitted > 0 && format == "text" {
			text = fmt.Appendf(text, "... and %d more, not kept\n", r.log.omitted)
		}
		return text, nil
	}
	var out bytes.Buffer
	o := r.options
	o.Format = format
	w, err := render.New(&out, o)
	if err != nil {
		return nil, err
	}
	parts := []*Result{r}
	if all && len(r.intervals) > 0 {
		parts = r.intervals
	}
	for _, x := range parts {
		err = errors.Join(err, x.show(w))
	}
	err = errors.Join(err, w.Flush())
	return out.Bytes(), err
}

func (r *Result) show(w render.Renderer) error {
	switch {
	case r.why != nil && r.why.table == r.table:
		return w.Show(r.why.Why)
	case r.table != nil:
		t := *r.table // renderers may fill in widths
		return w.Show(&t)
	case r.hist != nil:
		return w.Show(r.hist)
	case r.stacks != nil:
		return w.Show(r.stacks)
	}
	return nil
}

// write writes the result to w in the format for the extension of path.
func (r *Result) write(w io.Writer, path string) error {
	if f, ok := render.StackFormatOf(path); ok {
		if filepath.Ext(path) == ".svg" && r.hist != nil && len(r.intervals) > 1 {
			return render.HeatMap(w, chart.Over(r.histograms()))
		}
		if r.stacks == nil {
			return fmt.Errorf("got %s, want one of %s: only stacks become a flame graph, and histograms of "+
				"intervals a heat map", filepath.Ext(path), strings.Join(render.Extensions(), ", "))
		}
		return render.WriteStacks(w, f, r.stacks, r.meta.Wall, "")
	}
	format, ok := render.FormatOf(filepath.Ext(path))
	if !ok {
		return fmt.Errorf("got %q, want a name that ends in %s, and for stacks %s", path,
			strings.Join(render.Extensions(), ", "), strings.Join(render.StackExtensions(), ", "))
	}
	text, err := r.render(format, true)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// save renders the result completely before it opens the file.
func (r *Result) save(ctx context.Context, path string) error {
	var out bytes.Buffer
	if err := r.write(&out, path); err != nil {
		return err
	}
	if r.permit != nil {
		if err := r.permit(plan.Use{Kind: plan.Writes, Name: path, ScriptText: path}); err != nil {
			return err
		}
	}
	f, err := outfile.Open(ctx, path, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return diag.Reason(err)
	}
	_, err = f.Write(out.Bytes())
	return diag.Reason(errors.Join(err, f.Close()))
}
