package metric

import (
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
	"ppscript/runtime/why/story"
)

// A Recorder records the results of one script. It implements output.Sink; its metrics
// stay after Close.
type Recorder struct {
	render.Ignore
	store  *Store
	name   string
	prefix string // prefix of the names of its metrics

	events   uint64 // events of all runs
	now      uint64 // events of this run
	failures uint64
	running  bool
	until    time.Time
	results  []*group
	losses   []resultLoss
	logs     []log
	cost     *result.Cost // cost of the newest interval; nil if it was not measured
}

var _ output.Sink = (*Recorder)(nil)

// resultLoss counts the losses of a result; without a name, of the script as a
// whole.
type resultLoss struct {
	result string
	counts [len(lossNames)]uint64 // by lossNames
}

// lossNames has the names of the kinds of loss, in the order of
// resultLoss.counts.
var lossNames = (&event.Loss{}).Counts()

type log struct {
	name  string
	lines uint64
}

// Begin implements output.Sink.
func (r *Recorder) Begin(output.About) error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.running, r.now = true, 0
	return nil
}

// Close implements output.Sink.
func (r *Recorder) Close() error {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.running = false
	for _, g := range r.results {
		g.stamp++ // makes the gauges of the last interval invalid
	}
	return nil
}

// Failed counts that the script ended with an error.
func (r *Recorder) Failed() {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	r.failures++
}

// Show implements render.Renderer. Stacks are counted by their keys only; profiles are for the
// stacks themselves. The causes of slow spans are a table.
func (r *Recorder) Show(x result.Result) error {
	switch x := x.(type) {
	case *result.Why:
		return r.Show(story.Causes(x, unit.US, 0))
	case *result.Line:
		r.line(x.LogName())
		return nil
	case *result.Table, *result.Stacks:
	default:
		return nil // heat maps, pairs and texts have no metrics
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	m := x.About()
	r.about(m)
	switch x := x.(type) {
	case *result.Table:
		r.group(m.Name).table(x, false)
		for _, h := range x.Spreads {
			r.group(m.Name+"/"+h.Columns[h.Histogram()].Name).table(h, true)
		}
	case *result.Stacks:
		r.group(m.Name).stacks(x)
	}
	return nil
}

// line counts a line of a log.
func (r *Recorder) line(name string) {
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for i := range r.logs {
		if r.logs[i].name == name {
			r.logs[i].lines++
			return
		}
	}
	r.logs = append(r.logs, log{name, 1})
}

// Note implements render.Renderer: it counts losses that no result has.
func (r *Recorder) Note(kind string, fields ...render.NoteField) error {
	if kind != "loss" {
		return nil
	}
	r.store.mu.Lock()
	defer r.store.mu.Unlock()
	for _, f := range fields {
		for i := range lossNames {
			if lossNames[i].Name == f.Name {
				r.lost("").counts[i] += f.Value.Uint()
			}
		}
	}
	return nil
}

// about records the members that all results share.
func (r *Recorder) about(m *result.Meta) {
	if m.TotalSamples > r.now {
		r.events += m.TotalSamples - r.now
		r.now = m.TotalSamples
	}
	if m.Wall.After(r.until) {
		r.until = m.Wall
	}
	if m.Cost != nil {
		c := *m.Cost
		r.cost = &c
	}
	l := r.lost(m.Name)
	for i, c := range m.Loss.Counts() {
		l.counts[i] += c.N
	}
}

// lost returns the losses of a result so far.
func (r *Recorder) lost(name string) *resultLoss {
	for i := range r.losses {
		if r.losses[i].result == name {
			return &r.losses[i]
		}
	}
	r.losses = append(r.losses, resultLoss{result: name})
	return &r.losses[len(r.losses)-1]
}

// group returns the metrics of a result.
func (r *Recorder) group(name string) *group {
	for _, g := range r.results {
		if g.name == name {
			return g
		}
	}
	g := &group{script: r, name: name, rows: map[string]int{}}
	r.results = append(r.results, g)
	return g
}
