package plan

import (
	"fmt"
	"slices"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
)

// An Env is what Build knows of the outside.
type Env struct {
	Catalog  Catalog
	Services *expr.Services
	// Replay says that events come from a recording: filters run natively.
	Replay bool
	// NativeFilters names events (by label) whose filter the kernel refused.
	NativeFilters map[string]bool
	// ByThread says that the target is threads: the default join key is the
	// thread then, else the CPU.
	ByThread bool
	// Interpret leaves script functions to the interpreter, where they could
	// be compiled.
	Interpret bool
	// Tier decides about the kernel; the zero Tier is against it.
	Tier Tier
	// Note is told what is left out: optional events that do not exist.
	Note func(error)
}

// A Catalog finds the events that a source names: one, or several if the name
// is a glob. Tracefs and recordings implement it.
type Catalog interface {
	Find(s *Source) ([]*event.Schema, error)
}

// Build makes a Plan of what a script returned.
func Build(reports []Report, env Env) (*Plan, error) {
	if len(reports) == 0 {
		return nil, diag.Errorf(diag.Run, "main", "", "returned nothing to run").
			WithHint("return a result, for example: tracepoint(\"sched:sched_switch\").count()")
	}
	b := &builder{env: env, plan: &Plan{Router: &flow.Router{}, first: reports[0]}, streamsOf: map[*Source][]int{}, memo: map[Stream][]branch{},
		events: map[int]*Event{}, served: map[int]bool{}, asks: map[int]bool{}}
	// Events that are opened get the first stream indices, in the order in
	// which the script names them: the source's own numbers then.
	for _, r := range reports {
		if err := b.findSources(r.Input()); err != nil {
			return nil, err
		}
	}
	for _, r := range reports {
		if err := r.build(b); err != nil {
			return nil, err
		}
	}
	if err := b.execs(); err != nil {
		return nil, err
	}
	if err := b.pushes(); err != nil {
		return nil, err
	}
	settle := b.tier()
	evaluated, check := b.sieves()
	b.compact(evaluated)
	b.push()
	b.wire()
	if err := b.needs(); err != nil {
		return nil, err
	}
	if err := settle(); err != nil {
		return nil, err
	}
	if err := check(); err != nil {
		return nil, err
	}
	return b.plan, nil
}

type builder struct {
	env       Env
	plan      *Plan
	streamsOf map[*Source][]int
	memo      map[Stream][]branch
	joins     []*JoinOp
	folds     []*FoldOp
	mixed     bool  // a sink takes events of several roots
	machines  []any // machines and batchers: more interpreted functions
	attached  []*attachment
	events    map[int]*Event // by stream index
	programs  []*expr.Program
	calls     []Callable
	names     map[string]int
	moments   []momentUse
	texts     []textUse
	fits      bool         // into the kernel
	inner     bool         // what is built now belongs to a script among the sources
	served    map[int]bool // streams that do
	asks      map[int]bool // streams whose events are checked for their thread
}

// A root is where events come from: the router (nil), a join, counters.
type root interface{ attach(s flow.Sink) }

// An attachment is a sink with the branches that feed it from one root.
type attachment struct {
	op       Operator // whose sink it is; nil for what belongs to none
	root     root
	branches []branch
	sink     flow.Sink
	name     string
	prints   bool // what it gets goes out of ppscript
}

// name makes the name of a report unique: table, table2, ...
func (b *builder) name(base string) string {
	if b.names == nil {
		b.names = map[string]int{}
	}
	b.names[base]++
	if n := b.names[base]; n > 1 {
		return fmt.Sprintf("%s%d", base, n)
	}
	return base
}

// newStream adds an event to open and returns the index of its stream.
func (b *builder) newStream(s *Source, schema *event.Schema) int {
	label := schema.FullName()
	if s.Alias != "" {
		label = s.Alias
	}
	st := &event.Stream{Index: len(b.plan.streams), Schema: schema, Label: label}
	if s.Alias != "" && s.Kind.sampled() {
		st.Title = label
	}
	b.addStream(st)
	e := &Event{Stream: st, Source: s, Stack: sourceStack(s)}
	b.plan.Events = append(b.plan.Events, e)
	b.events[st.Index] = e
	return st.Index
}

// madeStream adds the stream of events that an operator makes.
func (b *builder) madeStream(schema *event.Schema) *event.Stream {
	st := &event.Stream{Index: len(b.plan.streams), Schema: schema, Label: schema.Name}
	b.addStream(st)
	return st
}

func (b *builder) addStream(st *event.Stream) {
	b.plan.streams = append(b.plan.streams, st)
	if b.inner {
		b.served[st.Index] = true
	}
}

// attach feeds sink from branches, through their predicates.
func (b *builder) attach(name string, branches []branch, sink flow.Sink) {
	b.attachTo(attachment{name: name, sink: sink}, branches)
}

// attachPrinter is attach for a sink whose events go out of ppscript.
func (b *builder) attachPrinter(name string, branches []branch, sink flow.Sink) {
	b.attachTo(attachment{name: name, sink: sink, prints: true}, branches)
}

func (b *builder) attachTo(to attachment, branches []branch) {
	for len(branches) > 0 {
		r := branches[0].root
		var same, rest []branch
		for _, br := range branches {
			if br.root == r {
				same = append(same, br)
			} else {
				rest = append(rest, br)
			}
		}
		a := to
		a.root, a.branches = r, same
		b.attached = append(b.attached, &a)
		b.mixed = b.mixed || len(rest) > 0
		branches = rest
	}
}

// wire connects the attachments: predicates in front of sinks, sinks behind
// roots. Joins come last, since their own sinks must be there first.
func (b *builder) wire() {
	type route struct {
		sink    flow.Sink
		streams []int
	}
	var routes []route
	for _, a := range b.attached {
		sink := b.filtered(a)
		if a.prints {
			sink = b.others(a, sink)
		}
		if a.root != nil {
			a.root.attach(sink)
			continue
		}
		var streams []int
		for _, br := range a.branches {
			streams = append(streams, br.stream)
		}
		routes = append(routes, route{sink, streams})
	}
	for _, r := range routes {
		b.plan.Router.Add(r.sink, r.streams, len(b.plan.streams))
	}
	for _, j := range b.joins {
		j.wire(b)
	}
	for _, f := range b.folds {
		f.wire(b)
	}
	if b.mixed {
		// What a join or fold makes of a slice of events comes when it has seen
		// all of the slice. One by one, it comes in time order with the rest.
		for _, e := range b.plan.Events {
			b.plan.Router.Split(e.Stream.Index)
		}
	}
}

// filtered puts the predicates of a's branches, and what is left of their
// sources' filters, in front of its sink.
func (b *builder) filtered(a *attachment) flow.Sink {
	each := make([]*expr.Program, len(b.plan.streams))
	any := false
	for _, br := range a.branches {
		if p := b.conjunction(br); p != nil {
			each[br.stream] = p
			any = true
		}
	}
	if !any {
		return a.sink
	}
	w := &flow.Where{Pred: flow.NewFn(each, sole(a.branches)), Next: a.sink}
	b.fails(&w.Errs, false, func() string { return a.name })
	return w
}

func sole(branches []branch) int {
	if len(branches) == 1 {
		return branches[0].stream
	}
	return -1
}

// fn compiles f for every branch.
func (b *builder) fn(f Fn, branches []branch, want expr.Kind) (*flow.Fn, error) {
	if err := f.check(branches); err != nil {
		return nil, err
	}
	each := make([]*expr.Program, len(b.plan.streams))
	for _, br := range branches {
		p, err := b.compile(f, &br, want)
		if err != nil {
			return nil, err
		}
		each[br.stream] = p
	}
	return flow.NewFn(each, sole(branches)), nil
}

// distinct checks that no stream comes twice and opens an event again where it
// does: both uses then have their own predicates.
func (b *builder) distinct(branches []branch) ([]branch, error) {
	var seen []int
	for i := range branches {
		br := &branches[i]
		if slices.Contains(seen, br.stream) {
			if br.root != nil {
				return nil, diag.Errorf(diag.Run, "merge", b.plan.streams[br.stream].Label, "the same pairs come twice").
					WithHint("join them once, or merge the events before the join")
			}
			e := b.events[br.stream]
			br.stream = b.newStream(e.Source, e.Stream.Schema)
			again := b.events[br.stream]
			again.Filter, again.Native, again.NativeText = e.Filter, e.Native, e.NativeText
			again.Stack = e.Stack
			sc := *br.scope
			sc.Stream = again.Stream
			br.scope = &sc
		}
		seen = append(seen, br.stream)
	}
	return branches, nil
}
