package bpf

import (
	"slices"

	"ppscript/bpf/eval"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/fold"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/record/sent"
)

// This file follows the edges of a Part, which it leaves as they are: each generation makes a layout
// of its own.

// A layout has the places of all data of a Part's programs. It is made by following the edges.
type layout struct {
	sources []*source
	derived []derived
	joins   []*joinOp
	folds   []*foldOp
	tables  []*load.Table

	intervals, counted bool
	weighed            bool // events have weights
	// keepsStacks says that sent records have stacks, which programs keep.
	keepsStacks bool
	holdsStacks bool            // folds hold stacks
	kept        sent.KeptLayout // layout of kept records, without their events
	prepared    map[any]bool    // operators
	waiting     int             // feeds whose events may wait for texts
}

// A source is an event with the feeds that take it.
type source struct {
	*Event
	feeds   []feed
	stacked bool // somebody counts by its stack
	// serves lists, for probes and system calls, the sources that one program handles, by index in
	// layout.sources. The fields behind it have their names by place, if these are keys, and say
	// that another program handles this source. calls are the numbers of system calls.
	serves    []int
	texts     [][]string
	calls     []int64
	served    bool
	lead      int  // that program's event
	partTexts bool // it starts pairs that are sent with its texts
	// numbers are the numbers of the pairs that the program sends as an end of many functions.
	numbers []uint64
}

// A feed is where events, or pairs, go if all of preds hold: to a table, into a
// join, to a fold, or out of the kernel.
type feed struct {
	preds []expr.Node
	stat  int // counter of the events that pass preds; 0 if the table's rows give that number

	emit *record

	grouping

	join  *joinOp
	input int // the number of the event for it
	stage int // negative starts and ends nothing
	key   expr.Node
	role  expr.Node // nil: start or end
	// returns says that the event of a join of calls is a return.
	returns bool
	keep    *record // the record that is kept of the event; nil: none

	folding

	waking
}

// grouping has the expressions for a feed into a table.
type grouping struct {
	table *load.Table
	keys  []expr.Node // of the table's columns
	args  []arg       // one for each of the table's arguments
	// late is the memory for events that wait for texts not in memory; nil if none
	// wait.
	late *postponed
}

// folding has the expressions for a feed into a fold; the key may have several
// columns.
type folding struct {
	fold  *foldOp
	step  expr.Node // its function
	holds bool      // the stack of the event, as a number
}

// waking has the fields by which a join recognises wakeups without effect. wakes is
// the task that the event wakes, wakesOn its CPU: a task that runs there does not
// wait. next is the task that a switch lets run, from which the running tasks are
// known. All may be nil.
type waking struct{ wakes, wakesOn, next expr.Node }

// An arg is what one event contributes to an argument of the aggregators.
type arg struct {
	off   bool      // nothing
	fn    expr.Node // nil: only count
	where expr.Node // nil: always
	rank  expr.Node // the rank by which a value of fn is kept; nil: none
}

// A joinOp relates events by key.
type joinOp struct {
	eval.Join
	spec   *join.Spec
	stages int
	pairing
	unpaired []unpaired // receivers of unpaired events

	tasks  bool // kept with the task, not in a hash
	shared bool // several CPUs may have calls of a key at a time
	flags  bool // of the events' contexts, wait too
}

// pairing has the pairs of a join.
type pairing struct {
	pairs []pair
	// every is pairs with the pairs that other programs serve; nil if none do. ways are the ways
	// of all pairs, if these are the events of many functions.
	every []pair
	ways  *ways
}

// A pair is one kind of pair: the inputs of its start and its end.
type pair struct {
	start, end int
	feeds      []feed
}

// followed is the layout of a Part.
func (p *Part) followed() *layout {
	b := &follower{layout: &layout{intervals: p.Intervals, counted: p.Counted, weighed: p.Weighed}, part: p,
		joins: map[*join.Spec]*joinOp{}, folds: map[*fold.Spec]*foldOp{}, tables: map[*agg.Spec]*load.Table{},
		feeds: map[int]*[]feed{}}
	for _, e := range p.Events {
		s := &source{Event: e}
		b.layout.sources = append(b.layout.sources, s)
		if b.feeds[e.Stream] == nil {
			b.feeds[e.Stream] = &s.feeds
		}
	}

	for _, e := range p.Edges {
		if e.Join() != nil && b.feeds[e.Stream] == nil && b.layout.derivedOf(e.Stream) == nil {
			b.layout.derived = append(b.layout.derived, derived{stream: e.Stream})
		}
	}
	// Operators come first: an edge may lead away from one that a later edge
	// leads to.
	for _, e := range p.Edges {
		b.operator(e)
	}
	for _, e := range p.Edges {
		feeds := b.from(e)
		*feeds = append(*feeds, b.feed(e))
	}
	b.layout.numberSent()
	b.layout.counters()
	return b.layout
}

// counters gives a counter to feeds whose number of events the rows of tables do not tell.
func (s *layout) counters() {
	made := map[*load.Table]bool{} // rows have pairs, or what folds emit
	for _, j := range s.joins {
		for _, p := range j.pairs {
			for i := range p.feeds {
				made[p.feeds[i].table] = true
			}
		}
	}
	for _, f := range s.folds {
		for i := range f.feeds {
			made[f.feeds[i].table] = true
		}
	}
	for _, e := range s.sources {
		for i := range e.feeds {
			if f := &e.feeds[i]; f.table == nil || made[f.table] {
				f.stat = load.StatReader(len(s.tables), i)
			}
		}
	}
}

// A follower follows edges.
type follower struct {
	layout *layout
	part   *Part
	joins  map[*join.Spec]*joinOp
	folds  map[*fold.Spec]*foldOp
	tables map[*agg.Spec]*load.Table
	feeds  map[int]*[]feed // by stream, of events and of pairs
}

// operator makes the operator that an edge leads to, if it is the first one.
func (b *follower) operator(e *Edge) {
	g := b.layout
	switch {
	case e.Join() != nil && b.joins[e.Join()] == nil:
		j := &joinOp{spec: e.Join(), Join: eval.Join{Index: len(g.joins)}}
		for i := range e.Join().In {
			j.stages = max(j.stages, e.Join().In[i].Stage+1)
		}
		for start := range g.inputs() {
			for end := range g.inputs() {
				if pairsOf(j.spec, g.streamOf(start), g.streamOf(end)) != nil {
					j.pairs = append(j.pairs, pair{start: start, end: end})
				}
			}
		}
		for i := range j.pairs {
			p := &j.pairs[i]
			stream := pairsOf(j.spec, g.streamOf(p.start), g.streamOf(p.end)).Index
			b.feeds[stream] = &p.feeds
			if m := g.derivedOf(stream); m != nil {
				m.join, m.start, m.end = j, p.start, p.end
			}
		}
		g.joins, b.joins[e.Join()] = append(g.joins, j), j
	case e.Fold() != nil && b.folds[e.Fold()] == nil:
		f := &foldOp{spec: e.Fold(), Fold: eval.Fold{Index: len(g.folds), Init: e.Fold().Init}}
		g.folds, b.folds[e.Fold()] = append(g.folds, f), f
		if out := e.Fold().Out; out != nil && g.derivedOf(out.Index) != nil {
			g.derivedOf(out.Index).fold = f
		}
	case e.Group != nil && b.tables[e.Group] == nil:
		t := &load.Table{Spec: e.Group, Name: e.Name, Index: len(g.tables)}
		g.tables, b.tables[e.Group] = append(g.tables, t), t
	}
}

// pairsOf returns the stream of the pairs of two input streams; nil if they make
// none.
func pairsOf(s *join.Spec, start, end int) *event.Stream {
	if start >= len(s.Pairs) || end >= len(s.Pairs[start]) {
		return nil
	}
	return s.Pairs[start][end]
}

// from is where the edges of a stream are kept: with its event, with the pairs of a
// join, or with the fold that makes it.
func (b *follower) from(e *Edge) *[]feed {
	if feeds := b.feeds[e.Stream]; feeds != nil {
		return feeds
	}
	for _, j := range b.layout.joins {
		if feeds := j.leaving(b.layout, e.Stream); feeds != nil {
			if e.Send == nil {
				refuse("%s works on events without a partner", e.Name)
			}
			return feeds
		}
	}
	for _, f := range b.layout.folds {
		if f.spec.Out != nil && f.spec.Out.Index == e.Stream {
			if (e.Fold() != nil || e.Join() != nil) && f.spec.Flush != nil {
				refuse("%s works on what a flush function emits, which is made in ppscript", e.Name)
			}
			return &f.feeds
		}
	}
	panic("BUG: an edge from nowhere")
}

// feed is an edge with the expressions of its stream.
func (b *follower) feed(e *Edge) feed {
	f := feed{preds: conditions(e)}
	switch {
	case e.Send != nil:
		f.emit = &record{Record: e.Send}
	case e.Join() != nil:
		f.join, f.input = b.joins[e.Join()], b.inputOf(e)
		if e.Keep != nil {
			f.keep = &record{Record: e.Keep}
		}
		if len(b.layout.derived) > 0 && e.Keep != nil {
			refuse("what happens around pairs, beside a join of pairs or of what a fold emits")
		}
		f.into(&e.Join().In[e.Stream])
	case e.Fold() != nil:
		f.fold = b.folds[e.Fold()]
		f.key, f.step = nodeAt(e.Fold().Key, e.Stream), nodeAt(e.Fold().Step, e.Stream)
	default:
		f.table = b.tables[e.Group]
		for _, fn := range e.Group.Keys {
			f.keys = append(f.keys, nodeAt(fn, e.Stream))
		}
		for i := range e.Group.Args {
			f.args = append(f.args, argOf(&e.Group.Args[i], e.Stream))
		}
	}
	return f
}

// conditions returns the conditions that hold for all events that an edge brings.
func conditions(e *Edge) (nodes []expr.Node) {
	for _, p := range e.Preds {
		nodes = append(nodes, p.Prog.Node)
	}
	if e.Send != nil && e.Bound != nil {
		nodes = append(nodes, e.Bound)
	}
	return nodes
}

// inputOf is the number of an edge's events for the join that it leads to. Many functions
// have a stream each.
func (b *follower) inputOf(e *Edge) int {
	for i := range b.layout.inputs() {
		if b.layout.streamOf(i) == e.Stream {
			return i
		}
	}
	panic("BUG: an event from nowhere")
}

// untraced reports that the event starts and ends nothing.
func (f *feed) untraced() bool { return f.stage < 0 }

// into sets the role of an event in a join.
func (f *feed) into(in *join.In) {
	if f.stage = in.Stage; !f.untraced() {
		f.key = nodeOf(in.Key)
	}
	if f.returns = in.Return; in.Role != nil {
		f.role = nodeOf(in.Role)
	}
	if f.join.spec.Nested {
		return // it asks nobody whether he waits
	}
	if w := in.Wakeup; w != nil {
		f.wakes = expr.NewField(w.PID, expr.Self)
		if w.CPU != nil {
			f.wakesOn = expr.NewField(w.CPU, expr.Self)
		}
	}
	if in.NextPID != nil {
		f.next = expr.NewField(in.NextPID, expr.Self)
	}
}

// argOf returns the part of a stream's events in an argument of aggregators.
func argOf(a *agg.Arg, stream int) arg {
	if a.Only != nil && !(stream < len(a.Only) && a.Only[stream]) {
		return arg{off: true}
	}
	var x arg
	if a.Fn != nil {
		x.fn = nodeAt(a.Fn, stream)
	}
	if a.Where != nil {
		x.where = nodeAt(a.Where, stream)
	}
	if a.Rank != nil {
		x.rank = nodeAt(a.Rank, stream)
		kind := expr.NumbersOf(x.rank).ValueKind()
		if !x.rank.Type().Numeric() || kind != a.Rank.Any().Number {
			refuse("a value at the largest of numbers that are not whole, or of two types")
		}
	}
	return x
}

func nodeAt(fn *flow.Fn, stream int) expr.Node { return nodeOf(fn.At(stream)) }

// nodeOf returns the expression of a function. It refuses a function that stays
// interpreted.
func nodeOf(p *expr.Program) expr.Node {
	if p == nil || p.IsInterpreted() {
		refuse("a function stays interpreted")
	}
	return p.Node
}

// prepare settles the layouts that several programs share.
func (s *layout) prepare(host *Host) {
	feeds := map[*load.Table][]keyExprs{}
	for _, j := range s.joins {
		s.prepareJoin(j, host)
		for _, p := range j.pairs {
			for _, f := range p.feeds {
				if f.emit != nil {
					f.emit.layPair(j.spec.Nested)
				}
				if f.table != nil {
					s.pairOrigins(j, p.start, p.end, func(e *source, in eval.Env) {
						feeds[f.table] = append(feeds[f.table], keyExprs{e, in, f.keys, f.args})
					})
				}
			}
		}
	}

	for i, e := range s.sources {
		for k := range e.feeds {
			s.postpones(i, &e.feeds[k], host)
		}
		for _, f := range e.feeds {
			if f.emit != nil {
				f.emit.lay()
			}
			if f.table != nil {
				feeds[f.table] = append(feeds[f.table], keyExprs{e, eval.Env{}, f.keys, f.args})
			}
			if l := f.late; l != nil {
				feeds[f.table] = append(feeds[f.table], keyExprs{e, l.env(i), l.feed.keys, l.feed.args})
			}
		}
	}

	for _, f := range s.folds {
		s.prepareFold(f, host)
		out := f.outEnv()
		s.stepsOf(f, func(e *source, _ eval.Env, _ *feed) {
			for i := range f.feeds {
				to := &f.feeds[i]
				switch {
				case to.emit != nil:
					to.emit.layEmitted(f)
				case to.table != nil:
					ofHeld(to.keys...)
					for _, a := range to.args {
						ofHeld(a.fn)
					}
					feeds[to.table] = append(feeds[to.table], keyExprs{e, out, to.keys, to.args})
				case to.fold != nil:
					ofHeld(to.key, to.step)
				}
			}
		})
	}

	for _, t := range s.tables {
		t.Cols, t.KeyLen = columnsOf(feeds[t])
		checkKey(host, t.KeyLen)
		state.LayOutRow(t, textRooms(feeds[t], len(t.Spec.Args)), s.weighed, byKey(s))
	}
}

// nodes lists all that event i's program evaluates.
func (s *layout) nodes(i int) []expr.Node {
	var all []expr.Node
	add := func(ns ...expr.Node) {
		for _, n := range ns {
			if n != nil {
				all = append(all, n)
			}
		}
	}
	var reads func(f *feed)
	reads = func(f *feed) {
		add(f.preds...)
		add(f.keys...)
		add(f.key, f.role, f.wakes, f.wakesOn, f.next)
		if f.join != nil && (len(f.join.unpaired) > 0 || f.join.shared) {
			add(tidNode, cpuNode)
		}
		if f.wakes != nil {
			add(tidNode)
		}
		if f.next != nil {
			add(cpuNode)
		}
		if f.keep != nil {
			for _, field := range f.keep.Fields {
				add(field)
			}
			add(tidNode, cpuNode)
		}
		if f.emit != nil {
			for _, field := range f.emit.Fields {
				add(field)
			}
			add(tidNode)
			if f.emit.pair || f.emit.Context {
				add(cpuNode)
			}
			add(f.emit.Texts...)
		}
		for _, a := range f.args {
			if !a.off {
				add(a.fn, a.where, a.rank)
			}
		}
		if f.late != nil {
			add(f.late.join.Texts.Reads(i, s.sources[i].Schema)...)
		}
		if f.join != nil {
			for k := range f.join.pairs {
				if p := &f.join.pairs[k]; p.end == f.input {
					for to := range p.feeds {
						reads(&p.feeds[to])
					}
				}
			}
			for _, sf := range f.join.Waits.Fields {
				if sf.Event == f.input {
					add(sf.Of)
				}
			}
			if len(f.join.Texts) > 0 {
				add(f.join.Texts.Reads(f.input, s.sources[i].Schema)...)
			}
		}
		if f.fold == nil {
			return
		}
		add(f.step)
		if f.fold.locked {
			add(cpuNode)
		}
		if f.holds {
			add(stackNode)
		}
		if f.fold.context != nil {
			add(f.fold.context.nodes(i)...)
		}
		for k := range f.fold.feeds {
			reads(&f.fold.feeds[k])
		}
	}
	add(s.sources[i].Filter)
	for k := range s.sources[i].feeds {
		reads(&s.sources[i].feeds[k])
	}
	for _, n := range slices.Clone(all) {
		all = append(all, expr.Reads(n)...)
	}
	return all
}

// tidNode and cpuNode are the running task and CPU.
var (
	tidNode  = memberNode("_tid", event.MemberTID)
	cpuNode  = memberNode("_cpu", event.MemberCPU)
	timeNode = memberNode("_time", event.MemberTime)
)

func memberNode(name string, f event.Member) *expr.Field {
	return &expr.Field{F: &event.Field{Name: name, Place: event.InMember, Member: f, Size: 4, Signed: true}}
}
