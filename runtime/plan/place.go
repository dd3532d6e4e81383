package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack"
)

// This file gives package placement the plan, which decides where its parts run,
// and applies the decision. This comes before predicates move into filters.

// place decides where the parts of the plan run.
func (b *builder) place() error {
	p := placement.Decide(b.graph, b.facts(), &b.env.KernelEnv, b.env.Replay)
	b.placer = p
	for _, f := range b.plan.feeds {
		for _, e := range f.edges {
			e.Remaining = e.Unchecked()
		}
	}
	b.plan.projected = p.Projected()
	for i, e := range b.plan.Events {
		open := p.Opening(i)
		e.Projection = open.Projection
		e.SampleFilter, e.SampleFilterText = open.Sieve, expr.Conjoin(open.SieveTexts)
		if e.projected = p.SendsEvent(i); e.projected {
			e.Filter, e.Native, e.NativeText = "", nil, ""
		}
	}
	return nil
}

// settle records where each part runs, once the rest of the plan is known.
func (b *builder) settle() (err error) {
	b.plan.Placement, err = b.placer.Settle(b.plan.Overwrite)
	b.plan.UnseenIdle = b.placer.Unseen()
	return err
}

// facts are the plan's facts for placement that the graph does not have.
func (b *builder) facts() placement.Facts {
	f := placement.Facts{
		Unsent: b.unsent(), Stacked: b.stacked(),
		Lines: Has[*LogOp](b.plan),
		Whole: Has[*RecordOp](b.plan) || Has[*PushOp](b.plan) || b.plan.Pulls(),
		Reads: placement.Reads{
			Programs: b.programs,
			Contexts: b.contexts,
			Texts:    b.texts,
			Asks:     b.asks,
		},
	}
	f.Reads.Names, f.Reads.Exact = b.readByScripts()
	for _, l := range Of[*LogOp](b.plan) {
		f.Newest = f.Newest || l.Spec.Newest
	}
	return f
}

// connect makes the plan's graph: its nodes are the events and the operators, each branch of a
// feed is an edge.
func (b *builder) connect() error {
	g := &graph.Graph{Streams: b.plan.streams}
	events := map[int]*graph.Node{} // by stream
	for _, e := range b.plan.Events {
		events[e.Stream.Index] = g.AddEvent(b.graphEvent(e))
	}
	known := map[*graph.Node]bool{}
	add := func(op Operator, name string) {
		if n := op.graphNode(); !known[n] {
			known[n] = true
			b.describe(op, name, n)
			g.Nodes = append(g.Nodes, n)
		}
	}
	for _, f := range b.plan.feeds {
		add(f.op, f.name)
	}
	for _, op := range b.plan.Operators {
		if _, no := op.inKernel(); no != "" {
			add(op, nameOf(op))
		}
	}
	for _, f := range b.plan.feeds {
		for i := range f.branches {
			br := &f.branches[i]
			e := &graph.Edge{Name: f.name, To: f.op.graphNode(), Stream: br.stream, Preds: br.preds}
			f.edges = append(f.edges, e)
			from, ok := events[br.stream]
			if br.root != nil {
				from, e.InUserSpace = br.root.graphNode(), br.root.inUserSpace()
				ok = known[from]
			}
			if slow, is := f.op.(bounder); is {
				e.Bound = slow.bound(br)
			}
			if unpaired, is := br.root.(*unpairedRoot); !ok || is && unpaired.lost {
				continue // programs that run the join send no such events
			}
			e.From = from
			g.Edges = append(g.Edges, e)
		}
	}
	b.graph = g
	return nil
}

// describe fills the graph's node of an operator.
func (b *builder) describe(op Operator, name string, n *graph.Node) {
	sees := op.sees()
	*n = graph.Node{Name: name, Op: &graph.Operator{Starts: sees.starts, Records: sees.records}}
	n.Op.Work, n.Op.KernelRefusal = op.inKernel()
	op.describe(b, n.Op)
}

// graphEvent is an event of the plan as the graph has it.
func (b *builder) graphEvent(e *Event) *graph.Event {
	p := b.kernelEvent(e)
	p.ExcludedReason = e.excluded(&b.env.KernelEnv)
	p.From = graph.ByPerf
	p.Decides = e.Source.Kind.Sampled()
	p.NoIdle = e.Source.Exclude.Idle
	switch {
	case b.env.Replay:
		p.From = graph.Recorded
	case e.Source.Pulled():
		p.From = graph.Elsewhere
	}
	return p
}

// schemas returns the schemas of the plan's events.
func (b *builder) schemas() (list []*event.Schema) {
	for _, e := range b.plan.Events {
		list = append(list, e.Stream.Schema)
	}
	return list
}

// nameOf names an operator without its options.
func nameOf(op Operator) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", op), "*plan."), "Op"))
}

// Reasons of several operators why projected records do not do.
const (
	notOnlyTracepoints = "there is more than tracepoints"
	sentElsewhere      = "events are sent elsewhere, or come from there"
)

// unsent says why no program can send the records of the events; "" if one may.
func (b *builder) unsent() string {
	p := b.plan
	if len(p.Events) == 0 {
		return notOnlyTracepoints
	}
	if p.Pulls() {
		return sentElsewhere
	}
	for _, op := range p.Operators {
		if why := op.notSent(); why != "" {
			return why
		}
	}
	if p.Overwrite {
		return "the newest events are kept in rings"
	}
	for _, e := range p.Events { // ends of faults may be kept
		switch s := e.Source; {
		case s.Kind == eventspec.Software && strings.HasSuffix(s.Name, "-faults") && s.Period <= 1:
		case !s.Dynamic() && (s.Kind != eventspec.Tracepoint || s.Probe != nil):
			return e.Stream.Label + " is not a tracepoint"
		case s.Period > 1 || s.Freq > 0:
			return e.Stream.Label + " is sampled"
		case e.Stream.Schema.Weighted() && b.weighs():
			return e.Stream.Label + " has weights, its periods, which programs do not send"
		case s.Exclude != eventspec.Exclude{}:
			return e.Stream.Label + " excludes user or kernel"
		}
	}
	return ""
}

// weighs reports that somebody may read how much an event stands for.
func (b *builder) weighs() bool {
	return len(b.calls)+len(b.machines) > 0 || Has[*TimelineOp](b.plan) ||
		slices.ContainsFunc(b.programs, func(p *expr.Program) bool {
			return p.Node == nil || p.Uses.Member(event.MemberPeriod)
		})
}

// stacked names an event whose stacks are wanted; "" if there is none.
func (b *builder) stacked() string {
	for _, e := range b.plan.Events {
		if e.Source.Stack || e.Stack != nil {
			return e.Stream.Label + " has stacks"
		}
	}
	return ""
}

// excluded says why no program takes an event's occurrences; "" if one can.
func (e *Event) excluded(env *placement.Env) string {
	s, no := e.Source, ""
	switch {
	case s.Pulled():
		no = "%s comes from elsewhere"
	case e.Stack != nil && e.Stack.Dwarf() && e.Stack.Copies:
		no = "user stacks of %s are copied, as many bytes as were asked for"
	case e.Stack != nil && e.Stack.Dwarf() && !env.Host.Tables():
		no = "user stacks of %s are unwound by unwind tables, which programs cannot read here (Linux 5.17, amd64); " +
			"--user-callchain fp asks for frame pointers"
	case s.Kind != eventspec.Tracepoint && !s.Dynamic():
		return "" // perf samples it, and the program takes the sample
	case s.Freq > 0 || s.Period > 1 && (s.Dynamic() || strings.HasPrefix(s.Name, "sched_stat_")):
		no = "%s is sampled"
	case s.Exclude != eventspec.Exclude{}:
		no = "%s excludes user or kernel"
	default:
		return ""
	}
	return fmt.Sprintf(no, e.Stream.Label)
}

// stackSpec converts s for programs of the kernel.
func (b *builder) stackSpec(s *stack.Choice) *graph.StackSpec {
	if s == nil {
		return nil
	}
	most := b.env.KernelEnv.MaxStack
	if s.Max > 0 {
		most = min(most, s.Max)
	}
	return &graph.StackSpec{Kernel: s.Kernel, User: s.User, Max: most,
		Tables: s.Dwarf() && b.env.KernelEnv.Host.Tables()}
}

// kernelEvent describes an event of the plan for programs of the kernel.
func (b *builder) kernelEvent(e *Event) *graph.Event {
	ev := &graph.Event{
		Stream:  e.Stream.Index,
		Schema:  e.Stream.Schema,
		Label:   e.Stream.Label,
		CPUs:    e.Source.CPUs,
		Period:  e.Source.Period,
		Sampled: e.Source.Kind != eventspec.Tracepoint && !e.Source.Dynamic(),
		Stack:   b.stackSpec(e.Stack),
	}
	if e.Source.Dynamic() {
		k := e.Source.Probe.Kind
		ev.Probe = &graph.Probe{
			User:   k != probe.Kprobe && k != probe.Kretprobe,
			Return: k == probe.Kretprobe || k == probe.Uretprobe,
		}
	}
	if f := e.Source.FilterText(); f != "" {
		p, err := cexpr.CompileFilter(f, b.scope(e.Source, e.Stream.Schema))
		if err != nil {
			ev.Err = fmt.Errorf("filter %s: %w", f, err)
			return ev
		}
		ev.Filter = p.Node
	}
	return ev
}

// readByScripts are the names that interpreted functions read; exact is false
// if that is not known.
func (b *builder) readByScripts() (names []string, exact bool) {
	var all []any
	for _, c := range b.calls {
		all = append(all, c)
	}
	for _, x := range append(all, b.machines...) {
		r, ok := x.(reader)
		if !ok {
			return nil, false
		}
		some, exact := r.Reads()
		if !exact {
			return nil, false
		}
		names = append(names, some...)
	}
	return names, true
}
