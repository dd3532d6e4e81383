package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
)

// This file is about spans: pairs of joins, and emitted events of folds with a
// begin.

// watched is the reason why the operator that makes spans runs in ppscript: a receiver wants spans
// when they begin. It is "" if there is none.
const watched = "spans that have not ended are asked for"

func (n *JoinOp) tells(to spanWatch) { n.opens = append(n.opens, to) }
func (n *foldOp) tells(to spanWatch) { n.opens = append(n.opens, to) }

func (n *JoinOp) spanKey(b *builder) (*flow.Fn, bool) {
	each := make([]*expr.Program, len(b.plan.streams))
	var keys []*expr.Program
	for _, stage := range n.stages {
		for _, br := range stage {
			each[br.stream] = br.marks.key
			keys = append(keys, br.marks.key)
		}
	}
	return flow.NewFn(each, -1), flow.SubjectOf(keys) == flow.Thread
}

func (n *foldOp) spanKey(*builder) (*flow.Fn, bool) {
	var keys []*expr.Program
	n.spec.Key.Each(func(p *expr.Program) { keys = append(keys, p) })
	return n.spec.Key, flow.SubjectOf(keys) == flow.Thread
}

func (n *JoinOp) spanStreams(add func(begin, end, span int)) {
	for begin, ends := range n.js.Pairs {
		for end, st := range ends {
			if st != nil {
				add(begin, end, st.Index)
			}
		}
	}
}

func (n *foldOp) spanStreams(add func(begin, end, span int)) {
	for _, stream := range n.streams {
		add(stream, stream, n.spec.Out.Index)
	}
}

func (n *JoinOp) begun(in *Instance) func(int32, *event.Event) *event.Event {
	run := in.join(n)
	return func(id int32, memory *event.Event) *event.Event {
		if j, nested := run.joiner.(*join.Nested); nested {
			return j.Begun(id, memory)
		}
		return run.joiner.(*join.Join).Begun(id, memory)
	}
}

func (n *foldOp) begun(in *Instance) func(int32, *event.Event) *event.Event {
	run := in.runs[n].(*FoldRun)
	return func(id int32, memory *event.Event) *event.Event { return run.Fold.Begun(id, memory) }
}

// beginOf is the expression for a span's begin.
func beginOf() expr.Node {
	f, _ := new(event.Schema).Field("time")
	return expr.NewField(f, expr.Start)
}

// spanScope adds the names of a span to emitted events that have a begin.
func (n *foldOp) spanScope(b *builder, sc *expr.Scope, brs []branch) {
	if n.spec.Begin == 0 {
		return
	}
	part := &expr.Scope{Schema: &event.Schema{}}
	if len(brs) == 1 {
		part = brs[0].scope
	}
	sc.TakeParts("start", part)
	sc.TakeParts("end", part)
	for name, p := range map[string]expr.Part{"start": expr.Start, "end": expr.End} {
		if len(brs) == 1 {
			for v, node := range brs[0].scope.Vars {
				sc.Vars[name+"."+v] = b.prints.Rebind(node, p)
			}
			continue
		}
		sc.Vars[name+".event"] = expr.LabelOf(p)
	}
	if _, own := sc.Schema.Field("begin"); !own {
		sc.Vars["begin"] = beginOf()
	}
	if _, own := sc.Schema.Field("delay"); !own {
		sc.Vars["delay"] = expr.NewField(&event.Field{Name: "delay", Type: "u64", Place: event.InMember,
			Member: event.MemberDelay, Unit: event.Nanos, Size: 8, Signed: true}, expr.Self)
	}
}
