package bpf

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf/alike"
	"ppscript/bpf/load"
	"ppscript/runtime/expr"
)

// This file has one program serve many functions, those that a pattern fits: all of
// their events go the same ways, and differ in the name of the function alone. One link
// attaches it to all functions of the kernel (kprobe_multi, 5.18) or of a file
// (uprobe_multi, 6.6), at once, and has a number for each, by which the program finds
// the name.

// mostProbes bounds the probes that have a program each: each has maps as well.
const mostProbes = 64

// serve finds the probes that one program can serve. The first one of them has it.
func (s *graph) serve(host *Host) {
	first := map[string]*source{}
	probes := 0
	for i, e := range s.sources {
		if e.lead = i; e.idle() && !s.counted {
			e.served = true // by nobody
		}
		if e.Probe == nil || e.served {
			continue
		}
		way, ok := e.ways(host)
		lead := first[way]
		multi := host.KprobeMulti
		if e.Probe.User {
			multi = host.UprobeMulti
		}
		if !ok || !multi || lead == nil || len(s.made) > 0 {
			first[way] = e
			e.serves = []int{i}
			probes++
			continue
		}
		lead.serves = append(lead.serves, i)
		e.served, e.lead = true, lead.lead
	}
	if probes > mostProbes {
		refuse("%d probes, each of which needs a program", probes)
	}
	for _, e := range s.sources {
		if len(e.serves) > 1 {
			s.names(e)
		}
	}
	s.pairNames()
}

// idle reports that nothing is to be done with an event: nobody looks at what happens
// during pairs.
func (e *source) idle() bool {
	return !slices.ContainsFunc(e.feeds, func(f feed) bool {
		return !f.untraced() || f.next != nil || f.keep != nil || len(f.preds) > 0
	})
}

// ways says where the events of a probe go, as a text; false if nobody else's could
// go the same ways.
func (e *source) ways(host *Host) (string, bool) {
	if !e.Probe.User && strings.ContainsAny(e.Schema.Name, "+ ") {
		return "", false // the link takes functions of the kernel by their names
	}
	if e.Probe.User && e.Schema.ID>>32 != 0 {
		return "", false // a semaphore of USDT, which perf's events raise
	}
	w := newWays(e.Probe.User || host.TellsFunction)
	fmt.Fprint(w, e.Schema.Type, e.Schema.ID, *e.Probe, e.CPUs, e.Stack != nil && e.Stack.Kernel,
		e.Stack != nil && e.Stack.User)
	w.Say(e.Filter)
	for i := range e.feeds {
		w.feed(&e.feeds[i])
	}
	return w.String(), w.Same
}

// ways tell where events go.
type ways struct{ alike.Ways }

func newWays(places bool) *ways { return &ways{alike.Ways{Places: places, Same: true}} }

// feed tells where a feed goes.
func (w *ways) feed(f *feed) {
	switch {
	case f.table != nil:
		fmt.Fprintf(w, "table %d;", f.table.Index)
	case f.fold != nil:
		fmt.Fprintf(w, "fold %d;", f.fold.index)
		w.Say(f.step)
	case f.join != nil:
		w.joins(f)
		return
	case f.emit != nil:
		fmt.Fprint(w, "send ", f.emit.Whole, f.emit.Context, f.emit.Stacks, ";")
		for _, field := range f.emit.Fields {
			w.Say(field)
		}
		w.Say(f.emit.Texts...)
	default:
		w.Same = false
		return
	}
	w.Say(f.preds...)
	w.WriteString("keys;")
	w.Say(f.columns()...)
	for _, a := range f.args {
		fmt.Fprint(w, a.off)
		w.Say(a.fn, a.where)
	}
}

// joins tells of a join into which events go: whatever they meet there, it must make pairs
// that go the same ways.
func (w *ways) joins(f *feed) {
	j := f.join
	w.Same = w.Same && !j.spec.Nested && len(j.lefts) == 0 && f.keep == nil && f.role == nil &&
		f.wakes == nil && f.next == nil && !slices.ContainsFunc(keysOf(f.key), alike.IsName)
	if !w.Same {
		return
	}
	if j.ways == nil {
		j.ways = newWays(w.Places)
		for i := range j.pairs {
			one := newWays(w.Places)
			for k := range j.pairs[i].feeds {
				to := &j.pairs[i].feeds[k]
				one.Same = one.Same && to.join == nil && (to.fold == nil ||
					!slices.ContainsFunc(keysOf(to.key), alike.IsName))
				one.feed(to)
			}
			if i == 0 {
				j.ways = one
			}
			j.ways.Same = j.ways.Same && one.Same && one.String() == j.ways.String()
		}
	}
	w.Same = j.ways.Same
	fmt.Fprintf(w, "join %d %d;", j.index, f.stage)
	w.Say(f.preds...)
	w.WriteString("keys;")
	w.Say(keysOf(f.key)...)
}

// pairNames leaves of the pairs of joins those whose events have programs, and has the keys
// of these find the names of functions by the places that were hit.
func (s *graph) pairNames() {
	for _, j := range s.joins {
		if j.ways == nil || !j.ways.Same {
			continue
		}
		at := map[[2]int]*pair{}
		for i := range j.pairs {
			at[[2]int{j.pairs[i].start, j.pairs[i].end}] = &j.pairs[i]
		}
		var kept []pair
		j.every = j.pairs
		for _, p := range j.pairs {
			start, end := s.sourceOf(p.start), s.sourceOf(p.end)
			if start == nil || end == nil { // a pair of another join, which has no program of its own
				kept = append(kept, p)
				continue
			}
			if start.served || end.served {
				continue
			}
			p.feeds = slices.Clone(p.feeds)
			for i := range p.feeds {
				if r := p.feeds[i].emit; r != nil {
					r.numberedBy(start, end, &p, func(start, end int) int {
						return at[[2]int{start, end}].feeds[i].emit.stream
					})
				}
				p.feeds[i].keys = slices.Clone(p.feeds[i].keys)
				for k, n := range p.feeds[i].keys {
					if alike.IsName(n) {
						p.feeds[i].keys[k] = s.pairName(n.(*expr.Field), p, func(start, end int) expr.Node {
							return at[[2]int{start, end}].feeds[i].keys[k]
						})
					}
				}
			}
			kept = append(kept, p)
		}
		j.pairs = kept
	}
}

// numberedBy has the program of an end find by what number it sends each pair: that of the two
// functions.
func (r *record) numberedBy(start, end *source, p *pair, of func(start, end int) int) {
	if row := max(len(end.serves), 1); row > 1 || len(start.serves) > 1 {
		r.numbers = &alike.Numbers{First: len(end.numbers), Row: row}
		end.numbers = append(end.numbers, alike.Every(start.serves, p.start, end.serves, p.end, of)...)
	}
}

// all are the pairs, with those of functions that others serve; lead is the one whose program
// sends another one.
func (j *joinOp) all(s *graph) (pairs []pair, lead func(p *pair) *pair) {
	if j.every == nil {
		return j.pairs, func(p *pair) *pair { return p }
	}
	kept := map[[2]int]*pair{}
	for i := range j.pairs {
		kept[[2]int{j.pairs[i].start, j.pairs[i].end}] = &j.pairs[i]
	}
	return j.every, func(p *pair) *pair {
		return kept[[2]int{s.sources[p.start].lead, s.sources[p.end].lead}]
	}
}

// pairName is the name of a function in a key of pairs; of tells that of other functions.
func (s *graph) pairName(n *expr.Field, p pair, of func(start, end int) expr.Node) expr.Node {
	e := s.sources[p.end]
	if n.Part == expr.Start {
		e = s.sources[p.start]
	}
	if len(e.serves) < 2 {
		return n
	}
	e.texts = nil
	for _, other := range e.serves {
		start, end := other, p.end
		if n.Part != expr.Start {
			start, end = p.start, other
		}
		e.texts = append(e.texts, alike.Name(of(start, end)))
	}
	return alike.Named(n, e.texts)
}

// columns are those of the key of a table or a fold.
func (f *feed) columns() []expr.Node {
	if f.fold != nil {
		return keysOf(f.key)
	}
	return f.keys
}

// names has the keys of a program that serves many find their text by the place that
// was hit.
func (s *graph) names(e *source) {
	for i := range e.feeds {
		own := &e.feeds[i]
		keys := slices.Clone(own.columns())
		for k, n := range keys {
			if !alike.IsName(n) {
				continue
			}
			e.texts = nil
			for _, other := range e.serves {
				e.texts = append(e.texts, alike.Name(s.sources[other].feeds[i].columns()[k]))
			}
			keys[k] = alike.Named(n, e.texts)
		}
		tuple, several := own.key.(*expr.TupleOf)
		switch {
		case own.fold == nil:
			own.keys = keys
		case several:
			t := *tuple
			t.Elems = keys
			own.key = &t
		default:
			own.key = keys[0]
		}
	}
}

// nameMaps adds the maps with the names of places.
func (im *Image) nameMaps() {
	for i, e := range im.graph.sources {
		if len(e.texts) > 0 {
			im.define(load.NamesMap.Of(i), alike.Map(e.texts))
		}
		if len(e.numbers) > 0 {
			im.define(load.NumbersMap.Of(i), alike.NumberMap(e.numbers))
		}
	}
}
