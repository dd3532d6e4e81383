package mergeable

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// A Merger makes Windows, which merge frames, and has the views of a script's
// results.
type Merger struct {
	// ByHost keeps the rows of machines separate: the host name becomes a key
	// of each result.
	ByHost bool
	// Apart also keeps the results of each machine separately, for Window.Outliers.
	Apart bool

	views  map[string]*shownAs
	stacks map[string]*plan.Stacks
}

// shownAs has the view of a table, and the names of its keys in the script.
type shownAs struct {
	view view.View
	keys []string
}

// NewMerger makes a Merger for the reports of a script.
func NewMerger(reports []plan.Report) *Merger {
	m := &Merger{views: map[string]*shownAs{}, stacks: map[string]*plan.Stacks{}}
	numbers := map[string]int{}
	next := func(base string) string { // numbers names in the same way as package plan
		if numbers[base]++; numbers[base] > 1 {
			return base + strconv.Itoa(numbers[base])
		}
		return base
	}
	for _, r := range reports {
		switch r := r.(type) {
		case *plan.Group:
			name := next("table")
			if r.Histogram() {
				name = next("histogram")
			}
			s := &shownAs{view: r.View}
			for _, v := range r.By {
				s.keys = append(s.keys, v.Name)
			}
			m.views[name] = s
		case *plan.Stacks:
			m.stacks[next("stacks")] = r
		}
	}
	return m
}

// A Window merges the results of machines in one window of time.
type Window struct {
	merger  *Merger
	results []*mergedResult
	lines   []hostLines
	apart   map[string]*Window // by host: the results of this machine alone; nil without Merger.Apart
}

// mergedResult is one result, merged from several machines.
type mergedResult struct {
	Result // without rows; its Form is from the first frame
	union  *agg.Union
	names  []map[string]string // by key column: names by the text of the cell, see nameKeys
	calls  []calls             // by aggregator
	stacks *result.Stacks
}

type hostLines struct {
	host string
	Result
}

// NewWindow makes an empty Window.
func (m *Merger) NewWindow() *Window { return &Window{merger: m} }

// Add adds a frame. A frame whose columns differ from the earlier frames' is an error, and none of
// its results are added.
func (w *Window) Add(f *Frame) error {
	for i := range f.Results {
		if err := w.fits(&f.Results[i]); err != nil {
			return fmt.Errorf("%s: %w", f.Host, err)
		}
	}
	if w.merger.Apart {
		if err := w.alone(f); err != nil {
			return err
		}
	}
	for i := range f.Results {
		r := &f.Results[i]
		if r.Kind == Lines {
			w.lines = append(w.lines, hostLines{cmp.Or(r.Host, f.Host), *r})
			continue
		}
		if err := w.of(f, i).add(r, f.Host, w.merger.ByHost); err != nil {
			return fmt.Errorf("%s: %s: %w", f.Host, r.Name, err)
		}
	}
	return nil
}

// fits returns an error if the form of a result differs from the form of the
// merged result of the same name.
func (w *Window) fits(r *Result) error {
	m := w.find(r)
	if m == nil || r.Form == nil {
		return nil
	}
	keys := m.Form.Keys
	if w.merger.ByHost {
		keys--
	}
	same := m.Kind == r.Kind && keys == r.Form.Keys && m.Form.Args == r.Form.Args &&
		len(m.Form.Aggs) == len(r.Form.Aggs)
	for i := range r.Form.Aggs {
		same = same && sameAgg(&m.Form.Aggs[i], &r.Form.Aggs[i])
	}
	if !same {
		return fmt.Errorf("%w: the columns of %s differ from the other machines': it runs another version",
			errForm, r.Name)
	}
	return nil
}

// sameAgg reports whether states of two aggregators can be merged.
func sameAgg(a, b *agg.Agg) bool {
	return a.Op == b.Op && a.Arg == b.Arg && a.Q == b.Q && a.N == b.N && a.Lo == b.Lo && a.Hi == b.Hi &&
		a.Step == b.Step && slices.Equal(a.Linear, b.Linear)
}

func (w *Window) find(r *Result) *mergedResult {
	i := slices.IndexFunc(w.results, func(m *mergedResult) bool {
		return m.Name == r.Name &&
			m.Kind == r.Kind
	})
	if i < 0 {
		return nil
	}
	return w.results[i]
}

// of returns the merged result for a result of a frame, and makes it if it is
// new.
func (w *Window) of(f *Frame, i int) *mergedResult {
	r := &f.Results[i]
	if m := w.find(r); m != nil {
		return m
	}
	m := &mergedResult{Result: Result{Kind: r.Kind, Name: r.Name, Title: r.Title}}
	if r.Form != nil {
		form := *r.Form
		if form.Columns = slices.Clone(form.Columns); w.merger.ByHost {
			form.Columns = slices.Insert(form.Columns, 0, result.Column{Name: "host", Kind: result.KeyColumn,
				Left: true, Width: 16, Prec: result.UnitPrec})
			form.Keys++
		}
		m.Form = &form
		m.union = agg.NewUnion(form.Aggs, form.Args, 0)
		m.names, m.calls = make([]map[string]string, form.Keys), make([]calls, len(form.Aggs))
	}
	w.results = slices.Insert(w.results, w.place(f, i), m)
	return m
}

// place returns the index of a new result among the merged ones. The order is as in the frames,
// whichever frame came first.
func (w *Window) place(f *Frame, i int) int {
	at := func(r *Result) int { return slices.Index(w.results, w.find(r)) }
	if i > 0 && w.find(&f.Results[i-1]) != nil {
		return at(&f.Results[i-1]) + 1
	}
	for k := range f.Results[i+1:] {
		if next := at(&f.Results[i+1+k]); next >= 0 {
			return next
		}
	}
	return len(w.results)
}

func (m *mergedResult) add(r *Result, host string, byHost bool) error {
	for i := range r.Rows {
		row := &r.Rows[i]
		names := row.Names
		part := row.Row
		if byHost && !row.Other {
			part.Key = append([]event.Value{event.StrOf(host)}, row.Key...)
			names = append([]string{""}, names...)
		}
		part.Key = m.nameKeys(part.Key, names)
		m.call(row.Called)
		if err := m.union.Add(&part); err != nil {
			return err
		}
	}
	if r.Stacks != nil {
		m.addStacks(r.Stacks, host, byHost)
	}
	m.Samples += r.Samples
	m.TotalSamples += r.TotalSamples
	m.Loss.Add(r.Loss)
	m.Costs.Add(&r.Costs)
	return nil
}

func (m *mergedResult) addStacks(s *result.Stacks, host string, byHost bool) {
	if byHost {
		s.Keys = slices.Insert(slices.Clone(s.Keys), 0, result.Column{Name: "host", Kind: result.KeyColumn,
			Left: true})
		for i := range s.Samples {
			s.Samples[i].Key = append([]event.Value{event.StrOf(host)}, s.Samples[i].Key...)
		}
	}
	if m.stacks == nil {
		own := *s
		own.Samples = slices.Clone(s.Samples)
		m.stacks = &own
		return
	}
	m.stacks.Samples = append(m.stacks.Samples, s.Samples...)
	m.stacks.Cut += s.Cut
	m.stacks.Unwound += s.Unwound
	if len(m.stacks.Samples) > 1<<16 {
		m.stacks.Merge()
	}
}

// About has the data that all results of a window share, and how they are
// shown.
type About struct {
	Begin, End time.Time
	Seq        int
	Final      bool
	Keep       bool
	Cost       bool                         // the cost is shown to people
	Aside      func(s *result.Stacks) error // called with stacks that are not to be shown; nil shows them
}

// Show shows the results. It returns the number of events they are from, and the loss.
func (w *Window) Show(to render.Renderer, about About) (samples uint64, loss event.Loss, err error) {
	for _, m := range w.results {
		meta := result.Meta{Name: m.Name, Title: m.Title, Seq: about.Seq, Final: about.Final,
			Keep: about.Keep, Begin: event.Time(about.Begin.UnixNano()),
			End: event.Time(about.End.UnixNano()), Wall: about.End, Samples: m.Samples,
			TotalSamples: m.TotalSamples, Loss: m.Loss, Cost: m.Costs.Mean()}
		if meta.Cost != nil {
			meta.Cost.Visible = about.Cost
		}
		if m.union != nil {
			meta.Loss.Add(m.union.Loss())
		}
		samples = max(samples, m.Samples) // not the sum: results are mostly from the same events
		loss = greater(loss, meta.Loss)
		switch m.Kind {
		case Table:
			err = w.table(to, m, meta)
		case Histogram:
			err = w.histogram(to, m, meta)
		case Stacks:
			err = w.stacks(to, m, meta, about)
		}
		if err != nil {
			return samples, loss, err
		}
	}
	return samples, loss, w.showLines(to)
}

// Sampled returns the number of machines that left events out for a budget.
func (w *Window) Sampled() (n uint64) {
	for _, m := range w.results {
		n = max(n, m.Costs.Sampled)
	}
	lines := map[string]uint64{}
	for i := range w.lines {
		l := &w.lines[i]
		lines[l.Name] += l.Costs.Sampled
		n = max(n, lines[l.Name])
	}
	return n
}

// greater returns the maximum of each count. Losses of results are not added up, since the
// results of one run share the same losses.
func greater(a, b event.Loss) event.Loss {
	counts := countsOf(&a)
	for i, n := range countsOf(&b) {
		counts[i] = max(counts[i], n)
	}
	return lossOf(counts)
}

// viewOf returns the view of a result. Keys in the steps that sort get the
// names that the columns really have.
func (w *Window) viewOf(m *mergedResult) view.View {
	s := w.merger.views[m.Name]
	if s == nil {
		return view.View{}
	}
	v := s.view
	v.Steps = slices.Clone(v.Steps)
	own := m.Form.Columns[:m.Form.Keys]
	if w.merger.ByHost {
		own = own[1:]
	}
	for i, key := range s.keys {
		if i < len(own) && own[i].Name != key {
			for j := range v.Steps {
				if v.Steps[j].Sort == key {
					v.Steps[j].Sort = own[i].Name
				}
			}
		}
	}
	return v
}

func (w *Window) table(to render.Renderer, m *mergedResult, meta result.Meta) error {
	v := w.viewOf(m)
	meta.Title = view.Title(v.Title, &meta)
	t := &result.Table{Meta: meta, Columns: slices.Clone(m.Form.Columns), Rows: m.union.Rows(m.Form.Keys),
		Layout: v.Layout, Other: m.union.Other(m.Form.Keys)}
	m.union.AddMargins(t, m.Form.Keys)
	if err := v.Table(t, m.showKeys(t.Rows)); err != nil {
		return err
	}
	return to.Show(t)
}

func (w *Window) histogram(to render.Renderer, m *mergedResult, meta result.Meta) error {
	v := w.viewOf(m)
	rows, other := m.union.Histograms(m.Form.Keys)
	keys := make([][]event.Value, len(rows))
	for i := range rows {
		keys[i] = slices.Clone(rows[i].Key)
		rows[i].Key = keys[i]
	}
	h, err := v.Histogram(meta, rows, other, m.Form.Columns, m.showKeys(keys))
	if err != nil {
		return err
	}
	return to.Show(h)
}

func (w *Window) stacks(to render.Renderer, m *mergedResult, meta result.Meta, about About) error {
	s := *m.stacks
	s.Meta, s.Samples = meta, slices.Clone(s.Samples)
	s.Merge()
	slices.SortStableFunc(s.Samples, func(a, b result.StackSample) int {
		return slices.CompareFunc(a.Key, b.Key, event.Value.Compare)
	})
	s.Sort()
	if spec := w.merger.stacks[m.Name]; spec != nil {
		if s.Totals = spec.Totals; spec.Top > 0 {
			s.Top(spec.Top)
		}
	} else if about.Aside != nil {
		return about.Aside(&s)
	}
	return to.Show(&s)
}

// showLines shows the lines of events, each preceded by the machine's name.
func (w *Window) showLines(to render.Renderer) error {
	slices.SortStableFunc(w.lines, func(a, b hostLines) int { return strings.Compare(a.host, b.host) })
	for i := range w.lines {
		l := &w.lines[i]
		for _, line := range l.Lines {

			for part := range strings.SplitSeq(line, "\n") {
				if err := to.Show(result.TextOf(l.host + ": " + part + "\n")); err != nil {
					return err
				}

			}

		}
		if l.Omitted > 0 {
			err := to.Show(result.TextOf(fmt.Sprintf("%s: %d more lines of %s\n", l.host, l.Omitted, l.Name)))
			if err != nil {
				return err
			}
		}
	}
	return nil
}
