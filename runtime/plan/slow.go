package plan

import (
	"fmt"
	"strings"

	"ppscript/runtime/expr"
	"ppscript/runtime/expr/cexpr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/result"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// Slow shows pairs that take longer than Than or less than Lower, with what
// happened around them. For unpaired events it compares the age.
type Slow struct {
	In          Stream
	Than, Lower int64 // ns; negative is no bound
	Detail      *Detail
}

// Input implements Report.
func (s *Slow) Input() Stream { return s.In }

// A Detail says which events are shown around a pair.
type Detail struct {
	join.Select
	// LimitBytes and MaxAgeNS bound the events that are kept for it.
	LimitBytes int
	MaxAgeNS   int64
}

// A SlowOp is the operator that Build makes of a Slow.
type SlowOp struct {
	operator
	Name  string
	Spec  *Slow
	roots []root // each has a sink
}

// A SlowRun is a SlowOp that runs. Its delivery sets emit.
type SlowRun struct {
	running
	*SlowOp
	emit  func(d *result.Detail)
	sinks []*join.Slow
}

func (s *Slow) build(b *builder) error {
	brs, err := b.branchesOf(s.In)
	if err != nil {
		return err
	}
	op := &SlowOp{Spec: s, Name: b.names.next("slow")}
	b.plan.add(op)
	groups := map[root][]branch{}
	for _, br := range brs {
		from := br.root
		n := joinOf(from)
		if f, made := from.(*foldOp); n == nil && (s.Detail != nil || !made || f.spec.Begin == 0) {
			return diag.Errorf(diag.Run, "slow", "", "the stream has events that are not pairs of a join").
				WithHint("join two stages first: join([start], [end], key = ...).slow(than = 10 * ms)")
		}
		if n != nil {
			from = n
		}
		if groups[from] == nil {
			op.roots = append(op.roots, from)
		}
		groups[from] = append(groups[from], br)
	}
	for i, from := range op.roots {
		if s.Detail != nil {
			n := joinOf(from)
			n.keep(s.Detail)
			n.listed = true
		}
		b.feed(feed{op: op, port: i, name: op.Name, prints: true}, groups[from])
	}
	return nil
}

// keep makes a join keep the events around its pairs.
func (n *JoinOp) keep(d *Detail) {
	if n.around == nil {
		n.around = &Detail{}
	}
	n.around.LimitBytes = max(n.around.LimitBytes, d.LimitBytes)
	n.around.MaxAgeNS = max(n.around.MaxAgeNS, d.MaxAgeNS)
}

func (op *SlowOp) instantiate(in *Instance) Running {
	run := &SlowRun{SlowOp: op}
	for _, from := range op.roots {
		one := join.Slow{Than: op.Spec.Than, Lower: op.Spec.Lower, Emit: func(d *result.Detail) {
			d.Name = run.Name
			run.emit(d)
		}}
		if op.Spec.Detail != nil {
			n, sel := joinOf(from), op.Spec.Detail.Select
			sel.Keys = make([]*expr.Program, len(n.js.In))
			for i := range n.js.In {
				sel.Keys[i] = n.js.In[i].Key
			}
			one.Select, one.Timeline = &sel, in.join(n).timeline
		}
		run.sinks = append(run.sinks, join.NewSlow(one))
	}
	return run
}

func (s *SlowRun) sink(port int) flow.Sink { return s.sinks[port] }

func (*SlowOp) needs(b *builder, n *need) { n.showsAround(b) }

func (*SlowOp) sees() sight { return sight{starts: true, records: true} }
func (*SlowOp) deliver(h Host) Delivery {
	return connection(func(r Running) error {
		r.(*SlowRun).emit = h.Detail
		return nil
	})
}

func (*SlowOp) ofOneMachine() (what, why string) { return "", "" }

func (*SlowOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "slow pairs are shown with their events"
}

func (op *SlowOp) explain(w *strings.Builder) {
	fmt.Fprintf(w, "result %-8s a listing for each slow pair\n", op.Name)
}

// joinOf is the join that a root belongs to.
func joinOf(r root) *JoinOp {
	switch r := r.(type) {
	case *JoinOp:
		return r
	case *unpairedRoot:
		return r.node
	}
	return nil
}

// State implements Running.
func (s *SlowRun) State() []string {
	var lines []string
	for _, sink := range s.sinks {
		if t := sink.Timeline; t != nil {
			lines = append(lines, fmt.Sprintf("%s: the timeline holds %s of at most %s", s.Name,
				unit.Size(int64(t.Bytes())), unit.Size(int64(t.Limit()))))
		}
	}
	return lines
}

// bound is the predicate that slow pairs satisfy; nil accepts all.
func (op *SlowOp) bound(br *branch) expr.Node {
	var texts []string
	if op.Spec.Than >= 0 {
		texts = append(texts, fmt.Sprintf("delay > %d", op.Spec.Than))
	}
	if op.Spec.Lower >= 0 {
		texts = append(texts, fmt.Sprintf("delay < %d", op.Spec.Lower))
	}
	return bounded(br, texts...)
}

// A bounder is an operator that takes only some pairs.
type bounder interface{ bound(br *branch) expr.Node }

// bounded is the predicate that one of some conditions holds; nil if there are none.
func bounded(br *branch, texts ...string) expr.Node {
	if len(texts) == 0 {
		return nil
	}
	p, err := cexpr.CompileCondition(strings.Join(texts, " || "), br.scope)
	if err != nil {
		return nil
	}
	return p.Node
}
