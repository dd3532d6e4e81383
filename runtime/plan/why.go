package plan

import (
	"fmt"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/why"
	"ppscript/runtime/why/slowspan"
)

// Why explains where the time of slow pairs went or, without In, all the time of a
// thread.
type Why struct {
	In Stream
	// TID is the thread; WindowNS is the length of the windows in which its
	// time is explained.
	TID      int32
	WindowNS int64
	slowspan.Choice
	// History are the events that explain the spans.
	History []Stream
	// Thread gives the thread of a pair, Label the pair's name. Without Thread it is the key,
	// or else the thread that ended the pair; without Label the names of the events.
	Thread, Label *Fn
	Depth         int
	LimitBytes    int
	BeforeNS      int64
	Stacks        bool
}

// Input implements Report.
func (y *Why) Input() Stream {
	if y.In == nil {
		return &Merge{In: y.History}
	}
	return &Merge{In: append([]Stream{y.In}, y.History...)}
}

// ResultName implements Named.
func (*Why) ResultName() string { return "why" }

// A WhyOp is the operator that Build makes of a Why.
type WhyOp struct {
	operator
	Name    string // of the result
	Spec    *Why
	joins   []*JoinOp         // each has a sink
	shapes  []*slowspan.Shape // by stream, of spans that no join makes; nil if there are none
	thread  *flow.Fn          // nil: by the key, or the thread that ends a pair
	label   *flow.Fn
	missing []why.Missing
	quotas  []*event.Field // fields with the account of CPU quotas; nil if there are none
	live    bool
}

// A WhyRun is a WhyOp that runs.
type WhyRun struct {
	running
	*WhyOp
	*slowspan.Story
	sinks []flow.Sink
	rest  []func() // each explains spans that still wait at the end
}

func (y *Why) build(b *builder) error {
	op := &WhyOp{Spec: y, Name: b.names.next("why"), live: !b.env.Replay}
	history, err := op.history(b)
	if err != nil {
		return err
	}
	if y.In == nil {
		b.plan.add(op)
		b.feed(feed{op: op, name: op.Name}, history)
		return nil
	}
	brs, err := b.existing("why", y.In)
	if err != nil {
		return err
	}
	b.plan.add(op)
	groups := map[*JoinOp][]branch{}
	var spans []branch
	for _, br := range brs {
		n := joinOf(br.root)
		if n == nil {
			if spans = append(spans, br); !op.shape(b, &br) {
				return diag.Errorf(diag.Run, "why", "", "the stream has events that are not spans").
					WithHint("take pairs, spans(begin, end), a fold with begin = \"since\", or parts of these by during")
			}
			continue
		}
		if groups[n] == nil {
			op.joins = append(op.joins, n)
		}
		groups[n] = append(groups[n], br)
	}
	if y.Thread != nil {
		if op.thread, err = b.fn(*y.Thread, brs, expr.Int); err != nil {
			return err
		}
	}
	if y.Label != nil {
		if op.label, err = b.fn(*y.Label, brs, expr.Any); err != nil {
			return err
		}
	}
	for i, n := range op.joins {
		if err := op.traced(b, n); err != nil {
			return err
		}
		n.observe(b, history, y)
		b.feed(feed{op: op, port: i, name: op.Name, prints: true}, groups[n])
	}
	if len(spans) == 0 {
		return nil
	}
	for _, br := range spans {
		if err := op.tracedSpans(b, br.root); err != nil {
			return err
		}
	}
	b.feed(feed{op: op, port: len(op.joins), name: op.Name}, history)
	b.feed(feed{op: op, port: len(op.joins) + 1, name: op.Name, prints: true}, spans)
	return nil
}

// shape finds which fields of a branch's events describe spans; false if the events are no
// spans.
func (op *WhyOp) shape(b *builder, br *branch) bool {
	switch r := br.root.(type) {
	case *foldOp:
		if r.explained = true; r.spec.Begin == 0 {
			return false
		}
	case *duringOp:
	default:
		return false
	}
	op.shapes = append(op.shapes, make([]*slowspan.Shape, len(b.plan.streams)-len(op.shapes))...)
	op.shapes[br.stream] = slowspan.ShapeOf(br.scope.Schema, about(b, *br))
	return true
}

// branchesFor lists the branches whose events go to an operator.
func (b *builder) branchesFor(op Operator) (all []*branch) {
	for _, f := range b.plan.feeds {
		for i := range f.branches {
			if f.op == op {
				all = append(all, &f.branches[i])
			}
		}
	}
	return all
}

// history lists the branches of the events that explain spans. Events that do not exist here
// are added to op.missing, which the result of why lists.
func (op *WhyOp) history(b *builder) ([]branch, error) {
	var all []branch
	quotas := b.env.Quotas != nil && b.env.Quotas()
	for _, s := range op.Spec.History {
		brs, err := b.branchesOf(s)
		if err != nil {
			return nil, err
		}
		src := sourcesOf(s, nil)
		for i := range brs {
			if quotas && len(src) == 1 && src[0].FullName() == why.QuotaEvent {
				op.quota(b, &brs[i])
			}
		}
		if len(brs) == 0 && len(src) == 1 && (b.env.Replay || quotas && op.quotas == nil ||
			!slices.Contains(why.QuotaProbes, src[0].FullName())) {
			_, err := b.env.Catalog.Find(src[0])
			op.missing = append(op.missing, slowspan.Missing(src[0].FullName(), err))
		}
		all = append(all, brs...)
	}
	return all, nil
}

// quota makes the events of a branch carry the account of CPU quotas, if the kernel has one.
func (op *WhyOp) quota(b *builder, br *branch) {
	var fields []*event.Field
	var uses []placement.ContextUse
	for _, r := range why.QuotaReads() {
		var f *event.Field
		p, err := cexpr.Compile(r.Text, br.scope)
		if err == nil {
			for _, read := range p.Uses.Fields {
				if read.F.Read != nil {
					f = read.F
				}
			}
		}
		if f == nil && !r.Optional {
			return // of another version of the kernel
		}
		if fields = append(fields, f); f != nil {
			uses = append(uses, placement.ContextUse{Prog: p, Name: f.Name, Optional: true, Read: f,
				Label: b.plan.streams[br.stream].Label, Schema: b.plan.streams[br.stream].Schema})
		}
	}
	op.quotas = fields
	b.contexts = append(b.contexts, uses...)
}

// tracedSpans adds conditions that only spans of the target's threads pass, as traced does for pairs.
func (op *WhyOp) tracedSpans(b *builder, r root) (err error) {
	switch r := r.(type) {
	case *JoinOp:
		return op.traced(b, r)
	case *duringOp:
		for i := range r.sides {
			if s := &r.sides[i]; !s.over && err == nil {
				err = op.tracedSpans(b, s.root)
			}
		}
	case *foldOp:
		whom := "_tid"
		if r.subject().Whom == flow.Thread {
			whom = r.from.Key.Text
		}
		if !b.env.ByThread || slices.ContainsFunc(r.streams, func(st int) bool { return b.asks[st] }) {
			return nil
		}
		for _, br := range b.branchesFor(r) {
			if err == nil {
				err = b.onlyTraced(br, whom)
			}
		}
	}
	return err
}

// onlyTraced adds a condition to a branch that only events of the target's threads pass. whom is
// the name of the field with the thread.
func (b *builder) onlyTraced(br *branch, whom string) error {
	p, err := b.compile(Fn{Text: "traced(" + whom + ")"}, br, expr.Bool)
	if err == nil {
		br.preds = append(slices.Clip(br.preds), &graph.Pred{Text: "traced(" + whom + ")", Prog: p})
	}
	return err
}

// traced adds conditions that only pairs of the target's threads pass, if there is a target. The
// history needs the events of all threads, so the events cannot be opened for the target alone.
func (op *WhyOp) traced(b *builder, n *JoinOp) error {
	for i := range n.js.In {
		if n.js.In[i].Stage >= 0 && b.asks[i] {
			return nil
		}
	}
	byKey := n.subject(b, 0).Whom == flow.Thread
	for _, br := range b.branchesFor(n) {
		in := &n.js.In[br.stream]
		if !b.env.ByThread || in.Stage < 0 || !byKey && in.Stage < len(n.stages)-1 {
			continue
		}
		whom := "_tid"
		if byKey {
			if whom = br.marks.keyText; whom == "" {
				whom = n.spec.Key.Text
			}
		}
		if err := b.onlyTraced(br, whom); err != nil {
			return err
		}
	}
	return nil
}

// observe makes a join keep the events of the history around its pairs.
func (n *JoinOp) observe(b *builder, history []branch, y *Why) {
	n.keep(&Detail{LimitBytes: y.LimitBytes})
	var more []branch
	for _, br := range history {
		if n.history[br.stream] = true; n.js.In[br.stream].Stage < 0 && !n.js.In[br.stream].Untraced {
			n.js.In[br.stream].Untraced = true
			n.extra, more = append(n.extra, br), append(more, br)
		}
	}
	for _, f := range b.plan.feeds {
		if f.op == n && f.root == nil {
			f.branches = append(f.branches, more...)
			return
		}
	}
	b.feed(feed{op: n, name: n.name}, more)
}

func (op *WhyOp) instantiate(in *Instance) Running {
	y := op.Spec
	facts := why.Config{Records: in.Plan.memory.Share(2, 160, why.DefaultRecords), Depth: y.Depth,
		Missing: op.missing, Stacks: y.Stacks, QuotaFields: op.quotas}
	story := &slowspan.Story{Facts: facts, Live: op.live}
	run := &WhyRun{WhyOp: op, Story: story}
	losses := slowspan.Losses{End: in.Router.LossEnd}
	if y.In == nil {
		w := slowspan.NewWindows(story, y.TID, y.WindowNS, losses)
		run.sinks, run.rest = append(run.sinks, w), append(run.rest, w.Rest)
	}
	for _, n := range op.joins {
		c := slowspan.Config{Choice: y.Choice, Story: story, Timeline: in.join(n).timeline,
			Before: y.BeforeNS, Keep: op.live || n.listed, Thread: op.thread, Label: op.label,
			Key: slowspan.SubjectBy(n.about, n.js.ByThread), Losses: losses}
		if in.programsDo(n) {
			c.Missed = func() []join.Gap { return in.Programs.Missed(&n.js) }
		}
		s := slowspan.New(c)
		in.fails(op.Name, &s.Errs, false)
		run.sinks, run.rest = append(run.sinks, s), append(run.rest, s.Rest)
	}
	if op.shapes != nil {
		s := &slowspan.Spans{Choice: y.Choice, Story: story, Losses: losses, Shapes: op.shapes,
			Thread: op.thread, Label: op.label}
		in.fails(op.Name, &s.Errs, false)
		run.sinks, run.rest = append(run.sinks, s, slowspan.Taker{Spans: s}), append(run.rest, s.Rest)
	}
	return run
}

// End implements Running.
func (r *WhyRun) End(final bool, _, _ event.Time) {
	if !final {
		return
	}
	for _, rest := range r.rest {
		rest()
	}
	r.Story.Conclude(&r.Spec.Choice)
}

func (r *WhyRun) sink(port int) flow.Sink { return r.sinks[port] }

func (*WhyOp) needs(_ *builder, n *need) {
	n.Add(event.MemberTime, event.MemberTID, event.MemberCPU)
	n.Raw = true
	n.OnlyProbes(n.schemas(), n.probe)
	n.Order("where time went is told by events in time order")
}

func (*WhyOp) sees() sight { return sight{key: true} }

func (*WhyOp) deliver(h Host) Delivery { return h.Why() }

func (*WhyOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "slow pairs are explained here"
}

func (op *WhyOp) explain(w *strings.Builder) {
	fmt.Fprintf(w, "result %-8s where time went\n", op.Name)
}

// bound is a predicate that every slow pair satisfies; nil accepts all.
func (op *WhyOp) bound(br *branch) expr.Node {
	if op.Spec.Slowest > 0 || op.Spec.Compare {
		return nil
	}
	return bounded(br, fmt.Sprintf("delay > %d", op.Spec.Than))
}

// setApart keeps the events of a join that are not part of the history, and are only its starts
// or ends, out of its timeline.
func (b *builder) setApart() error {
	for _, n := range Of[*JoinOp](b.plan) {
		for i := range n.js.In {
			n.js.In[i].Apart = len(n.history) > 0 && !n.listed && !n.history[i]
		}
	}
	return nil
}
