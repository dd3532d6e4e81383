package bpf

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf/hook"
	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file lets one program serve many functions, such as all functions that a pattern
// matches. Their events have the same feeds, and differ only in the function's name.
// One link attaches it to all functions of the kernel (kprobe_multi, 5.18) or of a file
// (uprobe_multi, 6.6), at once, and has a number for each, by which the program finds
// the name.
//
// In the same way, one program of raw_syscalls:sys_enter serves the tracepoints of many system calls,
// syscalls:sys_enter_*: its record has the same numbers in the same places. With an event of perf for each,
// 360 calls take seconds to open and 15 s to close, since for each event the kernel waits until no CPU is in
// its tracepoint any more.

// manyCalls is the number of system calls from which on one program serves them all, although it is then
// called for every system call. It is also the number of other tracepoints from which on programs count them.
const manyCalls = 8

// mostProbes bounds the probes that have a program each, since each program has maps of its own.
const mostProbes = 64

// serve finds the probes that one program can serve. The first one of them has it.
func (s *layout) serve(host *Host) {
	first := map[string]*source{}
	probes := 0
	for i, e := range s.sources {
		if e.lead = i; e.idle() && !s.counted {
			e.served = true // served by no program
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
		if !ok || !multi || lead == nil || len(s.derived) > 0 {
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
	s.serveCalls(host)
	for _, e := range s.sources {
		if len(e.serves) > 1 {
			s.names(e)
		}
	}
	s.pairNames()
}

// tellsCalls reports that programs know which system call an event is of.
func tellsCalls(host *Host) bool { return host.Event != nil && host.Tells32() }

// Calls are the numbers of the events that one program takes: those of many system calls that begin, or end,
// each call once.
func Calls(events []*Event, host *Host) (list []int) {
	if !tellsCalls(host) {
		return nil
	}
	var of [2][]int
	seen := [2]map[int64]bool{{}, {}}
	for i, e := range events {
		number, exit, ok := hook.CallOf(e)
		way := event.Bit(exit)
		if ok && !seen[way][number] {
			seen[way][number] = true
			of[way] = append(of[way], i)
		}
	}
	for _, group := range of {
		if len(group) >= manyCalls {
			list = append(list, group...)
		}
	}
	slices.Sort(list)
	return list
}

// Points are the numbers of the events, if they are many, that a program each counts which takes the
// tracepoint itself: such a program is detached at once, whereas the kernel waits for 35 ms at the end of
// each event of perf, one after the other. One program for all would miss what interrupts it; of each it is
// known how often that was. woken says that only some threads are counted: perf counts wake-ups for
// the thread that is woken.
func Points(events []*Event, host *Host, woken bool) (list []int) {
	for i, e := range events {
		p := hook.RawPointOf(e.Schema.FullName())
		if p != nil && !e.Schema.Weighted() && !(woken && hook.Wakes(e.Schema)) && host.Raw(p.Name, false) {
			list = append(list, i)
		}
	}
	if len(list) < manyCalls {
		return nil
	}
	return list
}

// serveCalls finds the tracepoints of system calls that one program can serve.
func (s *layout) serveCalls(host *Host) {
	if len(s.sources) < manyCalls || !tellsCalls(host) || len(s.derived) > 0 {
		return
	}
	type group struct {
		list  []int
		calls map[int64]bool
	}
	groups := map[string]*group{}
	for i, e := range s.sources {
		number, _, ok := hook.CallOf(e.Event)
		if e.served || !ok {
			continue
		}
		way, ok := e.ways(host)
		if !ok {
			continue
		}
		g := groups[way]
		if g == nil {
			g = &group{calls: map[int64]bool{}}
			groups[way] = g
		}
		if !g.calls[number] { // a call that is observed twice has a program of its own
			g.calls[number] = true
			g.list = append(g.list, i)
		}
	}
	for _, g := range groups {
		lead := s.sources[g.list[0]]
		all, ok := hook.AllCalls(lead.Event, host)
		if len(g.list) < manyCalls || !ok {
			continue
		}
		lead.serves = g.list
		for _, i := range g.list {
			number, _, _ := hook.CallOf(s.sources[i].Event)
			lead.calls = append(lead.calls, number)
			s.sources[i].served, s.sources[i].lead = true, g.list[0]
		}
		lead.served, lead.Event = false, all
	}
}

// idle reports that an event has no feed that needs it: events during pairs are not
// kept.
func (e *source) idle() bool {
	return !slices.ContainsFunc(e.feeds, func(f feed) bool {
		return !f.untraced() || f.next != nil || f.keep != nil || len(f.preds) > 0
	})
}

// ways describes the feeds of a probe's events as a text, to be compared with other
// probes; false if no other probe can have the same.
func (e *source) ways(host *Host) (string, bool) {
	if e.Probe == nil {
		w := newWays(false)
		w.Calls = true
		_, exit, _ := hook.CallOf(e.Event)
		fmt.Fprint(w, exit, e.CPUs, e.Stack != nil && e.Stack.Kernel, e.Stack != nil && e.Stack.User)
		w.all(e)
		return w.String(), w.Same && e.Period < 2
	}
	if !e.Probe.User && strings.ContainsAny(e.Schema.Name, "+ ") {
		return "", false // the link takes functions of the kernel by their names
	}
	if e.Probe.User && e.Schema.ID>>32 != 0 {
		return "", false // a semaphore of USDT, which perf's events raise
	}
	w := newWays(e.Probe.User || host.TellsFunction)
	fmt.Fprint(w, e.Schema.Type, e.Schema.ID, *e.Probe, e.CPUs, e.Stack != nil && e.Stack.Kernel,
		e.Stack != nil && e.Stack.User)
	w.all(e)
	return w.String(), w.Same && e.Period < 2
}

// ways tell where events go.
type ways struct {
	hook.Ways
	pairs bool // of pairs: texts of keys tell them apart
}

func newWays(places bool) *ways { return &ways{Ways: hook.Ways{Places: places, Same: true}} }

// all tells where all events of a source go.
func (w *ways) all(e *source) {
	w.Say(e.Filter)
	for i := range e.feeds {
		w.feed(&e.feeds[i])
	}
}

// feed tells where a feed goes.
func (w *ways) feed(f *feed) {
	switch {
	case f.table != nil:
		fmt.Fprintf(w, "table %d;", f.table.Index)
	case f.fold != nil:
		fmt.Fprintf(w, "fold %d;", f.fold.Index)
		w.Say(f.step)
	case f.join != nil:
		w.joins(f)
		return
	case f.emit != nil && f.emit.Whole && w.Calls:
		w.Same = false // their records differ
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
	say := w.Columns
	if w.pairs {
		say = w.Say
	}
	say(f.columns()...)
	for _, a := range f.args {
		fmt.Fprint(w, a.off)
		say(a.fn)
		w.Say(a.where, a.rank)
		w.Same = w.Same && !(w.pairs && hook.IsName(a.fn)) // see pairNames
	}
}

// joins tells of a join into which events go: whatever they meet there, it must make pairs
// that go the same ways.
func (w *ways) joins(f *feed) {
	j := f.join
	w.Same = w.Same && !w.Calls && !j.spec.Nested && len(j.unpaired) == 0 && f.keep == nil && f.role == nil &&
		f.wakes == nil && f.next == nil && !slices.ContainsFunc(keysOf(f.key), hook.IsName)
	if !w.Same {
		return
	}
	if j.ways == nil {
		j.ways = newWays(w.Places)
		for i := range j.pairs {
			one := newWays(w.Places)
			one.pairs = true
			for k := range j.pairs[i].feeds {
				to := &j.pairs[i].feeds[k]
				one.Same = one.Same && to.join == nil && (to.fold == nil ||
					!slices.ContainsFunc(keysOf(to.key), hook.IsName))
				one.feed(to)
			}
			if i == 0 {
				j.ways = one
			}
			j.ways.Same = j.ways.Same && one.Same && one.String() == j.ways.String()
		}
	}
	w.Same = j.ways.Same
	fmt.Fprintf(w, "join %d %d;", j.Index, f.stage)
	w.Say(f.preds...)
	w.WriteString("keys;")
	w.Say(keysOf(f.key)...)
}

// pairNames leaves of the pairs of joins those whose events have programs, and has the keys
// of these find the names of functions by the places that were hit.
func (s *layout) pairNames() {
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
					if hook.IsName(n) {
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
		r.numbers = &hook.PairNumbers{First: len(end.numbers), Row: row}
		end.numbers = append(end.numbers, hook.EveryNumber(start.serves, p.start, end.serves, p.end, of)...)
	}
}

// all are the pairs, with those of functions that others serve; lead is the one whose program
// sends another one.
func (j *joinOp) all(s *layout) (pairs []pair, lead func(p *pair) *pair) {
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
func (s *layout) pairName(n *expr.Field, p pair, of func(start, end int) expr.Node) expr.Node {
	e := s.sources[p.end]
	if n.Part == expr.Start {
		e = s.sources[p.start]
	}
	if len(e.serves) < 2 {
		return n
	}
	return e.named(n, func(other int) expr.Node {
		if n.Part != expr.Start {
			return of(p.start, other)
		}
		return of(other, p.end)
	})
}

// named is n, the name of a place; of tells that of the others.
func (e *source) named(n expr.Node, of func(other int) expr.Node) *expr.Field {
	var texts []string
	for _, other := range e.serves {
		texts = append(texts, hook.NameIn(of(other)))
	}
	list := slices.IndexFunc(e.texts, func(have []string) bool { return slices.Equal(have, texts) })
	if list < 0 {
		list = len(e.texts)
		e.texts = append(e.texts, texts)
	}
	return hook.Named(n, texts, list)
}

// columns returns the columns of the key of a table or a fold.
func (f *feed) columns() []expr.Node {
	if f.fold != nil {
		return keysOf(f.key)
	}
	return f.keys
}

// names has the keys of a program that serves many, and what aggregators take, find their text by the
// place that was hit.
func (s *layout) names(e *source) {
	for i := range e.feeds {
		own := &e.feeds[i]
		keys := slices.Clone(own.columns())
		for k, n := range keys {
			if hook.IsName(n) || hook.IsText(n) {
				of := func(other int) expr.Node { return s.sources[other].feeds[i].columns()[k] }
				keys[k] = e.named(n, of)
			}
		}
		own.args = slices.Clone(own.args)
		for k := range own.args {
			if n := own.args[k].fn; hook.IsName(n) || hook.IsText(n) {
				of := func(other int) expr.Node { return s.sources[other].feeds[i].args[k].fn }
				own.args[k].fn = e.named(n, of)
			}
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

// nameMaps adds the maps with the places of system calls, and the names of places.
func (im *Image) nameMaps() {
	for i, e := range im.layout.sources {
		if len(e.calls) > 0 {
			im.define(load.CallsMap.Of(i), hook.CallsMap(e.serves, e.calls))
		}
		for list, texts := range e.texts {
			im.define(load.NamesMap.Of(i, list), hook.NameMap(texts))
		}
		if len(e.numbers) > 0 {
			im.define(load.NumbersMap.Of(i), hook.NumberMap(e.numbers))
		}
	}
}
