package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/bpf"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/demand"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/source/probe"
	"ppscript/runtime/stack"
)

// This file tells package placement of the plan, which decides where its parts run,
// and applies what comes of it. It comes before predicates move into filters.

// place decides where the plan runs; settle is called when the rest is known.
func (b *builder) place() (settle func() error) {
	g, preds := b.graph()
	p := placement.Decide(g, &b.env.KernelEnv, b.env.Replay)
	moved := map[*pred]bool{}
	for _, m := range p.Moved() {
		moved[preds[m]] = true
	}
	b.without(moved)
	b.plan.projected = p.Projected()
	for i, e := range b.plan.Events {
		open := p.Opening(i)
		e.Sent, e.SampleFilter, e.SampleFilterText = open.Sent, open.Sieve, expr.Conjoin(open.SieveTexts)
		if e.projected = p.SendsEvent(i); e.projected {
			e.Filter, e.Native, e.NativeText = "", nil, ""
		}
	}
	return func() (err error) {
		b.plan.Placement, err = p.Settle(b.plan.Overwrite)
		b.plan.UnseenIdle = p.Unseen()
		return err
	}
}

// without takes predicates from all branches: somebody else checks them.
func (b *builder) without(moved map[*pred]bool) {
	for _, a := range b.plan.feeds {
		for i := range a.branches {
			br := &a.branches[i]
			br.preds = slices.DeleteFunc(slices.Clone(br.preds), func(p *pred) bool { return moved[p] })
		}
	}
}

// graph is the plan as placement sees it, and the plan's predicates by those of the
// graph.
func (b *builder) graph() (*placement.Graph, map[*placement.Pred]*pred) {
	g := &placement.Graph{
		Streams: b.plan.streams,
		Unsent:  b.unsent(), Stacked: b.stacked(),
		Lines: Has[*LogOp](b.plan),
		Whole: Has[*RecordOp](b.plan) || Has[*PushOp](b.plan) || b.plan.Pulls(),
		Reads: placement.Reads{
			Programs: b.programs,
			Contexts: b.contexts,
			Texts:    b.texts,
			Asks:     b.asks,
		},
	}
	g.Reads.Names, g.Reads.Exact = b.readByScripts()
	for _, l := range Of[*LogOp](b.plan) {
		g.Newest = g.Newest || l.Spec.Newest
	}
	makers := map[int]int{} // nodes by the stream that they make
	for _, e := range b.plan.Events {
		makers[e.Stream.Index] = len(g.Events)
		g.Events = append(g.Events, b.placed(e))
	}

	nodes := map[Operator]int{}
	add := func(op Operator, name string) {
		if _, known := nodes[op]; !known {
			nodes[op] = len(g.Events) + len(g.Operators)
			g.Operators = append(g.Operators, b.placedOperator(op, name))
			b.plan.placed[op] = g.Operators[len(g.Operators)-1]
		}
	}
	b.plan.placed = map[Operator]*placement.Operator{}
	for _, a := range b.plan.feeds {
		add(a.op, a.name)
	}
	for _, op := range b.plan.Operators {
		if _, no := op.inKernel(); no != "" {
			add(op, nameOf(op))
		}
	}

	known, preds := map[*pred]*placement.Pred{}, map[*placement.Pred]*pred{}
	for _, a := range b.plan.feeds {
		for i := range a.branches {
			br := &a.branches[i]
			from, ok := makers[br.stream]
			if br.root != nil {
				from, ok = nodes[makerOf(br.root)]
			}
			if left, is := br.root.(*leftRoot); !ok || is && left.lost {
				continue // where programs relate the events, none of these come
			}
			e := &placement.Edge{
				Name:   a.name,
				From:   from,
				To:     nodes[a.op],
				Stream: br.stream,
				Here:   madeHere(br.root),
			}
			for _, p := range br.preds {
				if known[p] == nil {
					known[p] = &placement.Pred{Text: p.text, Prog: p.prog, Keeps: p.state != nil}
					preds[known[p]] = p
				}
				e.Preds = append(e.Preds, known[p])
			}
			if slow, is := a.op.(bounder); is {
				e.Bound = slow.bound(br)
			}
			g.Edges = append(g.Edges, e)
		}
	}
	return g, preds
}

// placed is an event of the plan as placement sees it.
func (b *builder) placed(e *Event) *placement.Event {
	p := &placement.Event{
		Stream:  e.Stream,
		Outside: e.outside(&b.env.KernelEnv),
		From:    placement.ByPerf,
		Samples: e.Source.Kind.Sampled(),
	}
	p.Program, p.Err = b.kernelEvent(e)
	switch {
	case b.env.Replay:
		p.From = placement.Recorded
	case e.Source.Pulled():
		p.From = placement.Elsewhere
	}
	return p
}

// placedOperator is an operator of the plan as placement sees it.
func (b *builder) placedOperator(op Operator, name string) *placement.Operator {
	sees := op.sees()
	p := &placement.Operator{Name: name, Starts: sees.starts, Records: sees.records}
	p.Work, p.No = op.inKernel()
	switch op := op.(type) {
	case *JoinOp:
		p.Pairs, p.Keeps = &op.js, true
		if op.around != nil {
			p.Around, p.AroundBytes = true, (&join.Timeline{LimitBytes: op.around.LimitBytes}).Limit()
			p.Explained = len(op.history) > 0 && !op.listed
		}
	case *foldOp:
		p.Keeps = true
		env := &b.env.KernelEnv
		if p.No == "" && op.hasStacks() && env.Engine == placement.EngineAuto &&
			!(env.Target != nil && len(env.Target.PIDs)+len(env.Target.TIDs) > 0 && !env.Target.Follow) &&
			(b.env.Replay || env.Unseen(b.schemas()...) == "") {
			p.No = "stacks of many processes, which " + name + " holds, find more room in ppscript"
		}
	}
	return p
}

// schemas are those of the plan's events.
func (b *builder) schemas() (list []*event.Schema) {
	for _, e := range b.plan.Events {
		list = append(list, e.Stream.Schema)
	}
	return list
}

// makerOf is the operator whose events come from a root.
func makerOf(r root) Operator {
	switch r := r.(type) {
	case *leftRoot:
		return r.node
	case Operator:
		return r
	}
	return nil
}

// madeHere reports that ppscript makes the events of a root, whoever does the work
// of its operator.
func madeHere(r root) bool {
	switch r.(type) {
	case nil, *JoinOp, *foldOp:
		return false
	}
	return true
}

// nameOf is an operator that nothing is attached to.
func nameOf(op Operator) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", op), "*plan."), "Op"))
}

// What several operators say of projected records.
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

// stacked tells of an event whose stacks somebody wants; "" if there is none.
func (b *builder) stacked() string {
	for _, e := range b.plan.Events {
		if e.Source.Stack || e.Stack != nil {
			return e.Stream.Label + " has stacks"
		}
	}
	return ""
}

// outside says why no program takes an event's occurrences; "" if one can.
func (e *Event) outside(env *placement.Env) string {
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

// stackSpec is s as programs need it.
func (b *builder) stackSpec(s *stack.Wanted) *bpf.StackSpec {
	if s == nil {
		return nil
	}
	most := b.env.KernelEnv.MaxStack
	if s.Max > 0 {
		most = min(most, s.Max)
	}
	return &bpf.StackSpec{Kernel: s.Kernel, User: s.User, Max: most,
		Tables: s.Dwarf() && b.env.KernelEnv.Host.Tables()}
}

// kernelEvent is an event of the plan as programs take it.
func (b *builder) kernelEvent(e *Event) (*bpf.Event, error) {
	ev := &bpf.Event{
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
		ev.Probe = &bpf.Probe{
			User:   k != probe.Kprobe && k != probe.Kretprobe,
			Return: k == probe.Kretprobe || k == probe.Uretprobe,
		}
	}
	if f := e.Source.FilterText(); f != "" {
		p, err := cexpr.CompileFilter(f, b.scope(e.Source, e.Stream.Schema))
		if err != nil {
			return nil, fmt.Errorf("filter %s: %w", f, err)
		}
		ev.Filter = p.Node
	}
	return ev, nil
}

// readByScripts are the names that interpreted functions read; exact is false
// if that is not known.
func (b *builder) readByScripts() (names []string, exact bool) {
	var all []any
	for _, c := range b.calls {
		all = append(all, c)
	}
	for _, x := range append(all, b.machines...) {
		r, ok := x.(demand.Reader)
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
