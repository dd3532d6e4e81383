package mergeable

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/session"
	"ppscript/runtime/text/diag"
)

// MostLines bounds the events or pairs of one log that a machine sends per
// window.
const MostLines = 200

// A Writer writes the results of a session as frames, at the end of each interval. It is a
// renderer, but gets the rows of tables through the hooks that Parts returns.
type Writer struct {
	render.Ignore
	Host     string
	Script   [32]byte
	Interval time.Duration // 0 if the whole run is one window

	to      io.Writer
	seq     uint64
	until   int64 // the end of the previous window
	begun   bool
	pending []Result
	lines   []Result // by the names of logs and pairs
	text    bytes.Buffer
	plain   render.Renderer // writes to text
}

// NewWriter makes a Writer that writes a stream of frames.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Open sets the clock of the events. It is called before the first event.
func (w *Writer) Open(clock func(event.Time) time.Time) (err error) {
	w.plain, err = render.New(&w.text, render.Options{Color: "never", Clock: clock, Notes: io.Discard})
	return err
}

// Parts returns the hooks that a session calls with the rows of tables.
func (w *Writer) Parts() session.Parts {
	return session.Parts{Plan: Check, Table: w.table, Ended: w.ended}
}

// Check returns an error if a plan makes results that cannot be merged, or does more than showing
// results.
func Check(p *plan.Plan) error {
	what, why := p.OfOneMachine()
	if why == "" {
		return nil
	}
	return diag.Errorf(diag.Usage, "make parts of", what, "%s", why).
		WithHint("tables, histograms, stacks and lines can be put together: docs/fleet.md")
}

func resultOf(kind Kind, m *result.Meta) Result {
	return Result{Kind: kind, Name: m.Name, Title: m.Title, Samples: m.Samples,
		TotalSamples: m.TotalSamples, Loss: m.Loss, Costs: costsOf(m.Cost)}
}

// table is session.Parts.Table.
func (w *Writer) table(t *plan.Table, m result.Meta, name func(*result.Table)) error {
	kind := Table
	if t.Hist >= 0 {
		kind = Histogram
	}
	r := resultOf(kind, &m)
	keys := len(t.Spec.By)
	f := &Form{Columns: slices.Clone(t.Columns), Keys: keys}
	f.Aggs, f.Args = t.Group.Aggs()
	r.Form = f
	shown := &result.Table{Columns: slices.Clone(t.Columns)}
	name(shown)
	told := map[string]bool{}
	for row := range t.Group.Parts {
		own := Row{Row: *row}
		if !row.Other {
			w.name(&own, t, shown.Columns)
		}
		for i := range f.Aggs {
			own.call(t, i, f.Aggs, shown.Columns[keys+i], told)
		}
		r.Rows = append(r.Rows, own)
	}
	for i := range f.Columns {
		f.Columns[i].Type = result.Plain
	}
	w.pending = append(w.pending, r)
	return nil
}

// name sets the names of a row's keys. Numbers of stacks become texts, since other machines have
// other numbers.
func (w *Writer) name(row *Row, t *plan.Table, columns []result.Column) {
	for i, v := range row.Key {
		if columns[i].Type == result.StackNumbers && columns[i].Text != nil {
			row.Key[i] = event.StrOf(columns[i].Text(v))
			continue
		}
		show := t.Shows(i)
		if show == nil {
			continue
		}
		if text, ok := show(v); ok {
			for len(row.Names) < i {
				row.Names = append(row.Names, "")
			}
			row.Names = append(row.Names, text)
		}
	}
}

// call sets the names of the values of aggregator i in a row, unless told says
// that another row has the name already.
func (r *Row) call(t *plan.Table, i int, aggs []agg.Agg, column result.Column, told map[string]bool) {
	stacks := column.Type == result.StackNumbers && column.Text != nil
	show := t.Names(i)
	if show == nil && !stacks {
		return
	}
	for v := range r.Values(aggs, i) {
		if stacks {
			*v = event.StrOf(column.Text(*v))
			continue
		}
		id := fmt.Sprint(i, " ", v)
		if text, ok := show(*v); ok && !told[id] {
			told[id] = true
			r.Called = append(r.Called, KernelName{i, *v, text})
		}
	}
}

// Show implements render.Renderer. Rows of tables and histograms come through Parts. Heat maps,
// texts and explanations of slow spans cannot be merged, and are ignored.
func (w *Writer) Show(r result.Result) error {
	switch r := r.(type) {
	case *result.Stacks:
		return w.stacks(r)
	case *result.Table:
		return diag.Errorf(diag.Run, "make parts of", r.Name, "it is not known how to merge its rows").
			WithHint("tables of by(...).agg(...) can be put together: docs/fleet.md")
	case *result.Line:
		return w.line(r.Result, r)
	case *result.Detail:
		return w.line(r.Name, r)
	}
	return nil
}

func (w *Writer) stacks(s *result.Stacks) error {
	r := resultOf(Stacks, &s.Meta)
	own := *s
	own.Samples = append(slices.Clip(s.Samples), s.Rest...)
	r.Stacks = &own
	w.pending = append(w.pending, r)
	return nil
}

// line adds an event or a pair to the named result, as text.
func (w *Writer) line(name string, one result.Result) error {
	i := slices.IndexFunc(w.lines, func(r Result) bool { return r.Name == name })
	if i < 0 {
		i = len(w.lines)
		w.lines = append(w.lines, Result{Kind: Lines, Name: strings.Clone(name)})
	}
	r := &w.lines[i]
	if len(r.Lines) >= MostLines {
		r.Omitted++
		return nil
	}
	w.text.Reset()
	if err := w.plain.Show(one); err != nil {
		return err
	}
	if err := w.plain.Flush(); err != nil {
		return err
	}
	r.Lines = append(r.Lines, strings.TrimSuffix(w.text.String(), "\n"))
	return nil
}

// ended is session.Parts.Ended: it writes the frames of the window that ends.
func (w *Writer) ended(m result.Meta) error {
	for i := range w.lines {
		w.lines[i].Loss, w.lines[i].Costs = m.Loss, costsOf(m.Cost)
		w.pending = append(w.pending, w.lines[i])
	}
	w.lines = nil
	now := m.Wall.UnixNano()
	end := now
	if i := w.Interval.Nanoseconds(); i > 0 {
		end = (now + i/2) / i * i
		if m.Final {
			end = (now + i - 1) / i * i
		}
	}
	begin := w.until
	if !w.begun {
		begin = end - w.Interval.Nanoseconds()
	}
	f := Frame{Host: w.Host, Script: w.Script, Begin: min(begin, end), End: end, Final: m.Final,
		Results: w.pending}
	w.until, w.pending = end, nil
	return w.write(&f)
}

// frameGoal is the length at which a frame ends and the next one begins, in bytes.
const frameGoal = MaxFrame / 2

// write writes a frame, split into several frames if it is long.
func (w *Writer) write(f *Frame) error {
	for part := range f.split {
		w.seq++
		part.Seq = w.seq
		b := part.Append(nil)
		if len(b) > MaxFrame {
			return diag.Errorf(diag.Run, "write", "parts", "one row has %d bytes", len(b)).
				WithHint("leave distinct() and top() of long texts out")
		}
		if !w.begun {
			w.begun = true
			if _, err := io.WriteString(w.to, Header); err != nil {
				return err
			}
		}
		if _, err := w.to.Write(append(protowire.AppendVarint(nil, uint64(len(b))), b...)); err != nil {
			return err
		}
	}
	return nil
}

// split yields the parts of a frame. More is set in all parts but the last.
func (f *Frame) split(yield func(*Frame) bool) {
	part, size := f.empty(), 0
	full := func(more int) bool {
		if size == 0 || size+more <= frameGoal {
			size += more
			return true
		}
		part.More = true
		ok := yield(part)
		part, size = f.empty(), more
		return ok
	}
	e := &encoder{}
	measure := func(fn func()) int {
		e.b = e.b[:0]
		fn()
		return len(e.b) + 8
	}
	for i := range f.Results {
		r := &f.Results[i]
		own := *r
		own.Rows, own.Lines = nil, nil
		if r.Stacks != nil {
			s := *r.Stacks
			s.Samples = nil
			own.Stacks = &s
		}
		if !full(measure(func() { e.result(&own) })) {
			return
		}
		part.Results = append(part.Results, own)
		// next returns the result to which the next row, line or stack is added. If a new frame
		// begins, that is the same result without its counts.
		next := func(more int) *Result {
			if !full(more) {
				return nil
			}
			if len(part.Results) == 0 {
				again := own
				again.Samples, again.TotalSamples, again.Loss, again.Omitted = 0, 0, event.Loss{}, 0
				again.Costs = Costs{}
				if again.Stacks != nil {
					s := *again.Stacks
					s.Samples, s.Cut, s.Unwound = nil, 0, 0
					again.Stacks = &s
				}
				part.Results = append(part.Results, again)
			}
			return &part.Results[len(part.Results)-1]
		}
		for j := range r.Rows {
			to := next(measure(func() { e.row(&r.Rows[j]) }))
			if to == nil {
				return
			}
			to.Rows = append(to.Rows, r.Rows[j])
		}
		for _, line := range r.Lines {
			to := next(len(line) + 8)
			if to == nil {
				return
			}
			to.Lines = append(to.Lines, line)
		}
		if r.Stacks == nil {
			continue
		}
		for j := range r.Stacks.Samples {
			one := result.Stacks{Keys: r.Stacks.Keys, Samples: r.Stacks.Samples[j : j+1]}
			to := next(measure(func() { e.stacks(&one) }))
			if to == nil {
				return
			}
			to.Stacks.Samples = append(to.Stacks.Samples, r.Stacks.Samples[j])
		}
	}
	yield(part)
}

func (f *Frame) empty() *Frame {
	own := *f
	own.Results = nil
	return &own
}
