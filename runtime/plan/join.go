package plan

import (
	"fmt"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/join"
)

// A joinNode is a Join while the plan is built.
type joinNode struct {
	spec  *Join
	run   *JoinRun
	js    join.Spec
	next  flow.Fan // who wants the pairs
	name  string
	feeds flow.Sink // what the router feeds: the join itself
}

func (n *joinNode) attach(s flow.Sink) { n.next.Next = append(n.next.Next, s) }

// Events and Lost make the node the sink of its inputs until the join is
// made, behind all of its own sinks.
func (n *joinNode) Events(evs []*event.Event)                   { n.feeds.Events(evs) }
func (n *joinNode) Lost(ring int32, count uint64, t event.Time) { n.feeds.Lost(ring, count, t) }

// wire makes the join, now that everybody who wants its pairs is known.
func (n *joinNode) wire(*builder) {
	var next flow.Sink = &n.next
	if len(n.next.Next) == 1 {
		next = n.next.Next[0]
	}
	n.run.Join = join.New(n.js, next)
	n.feeds = n.run.Join
}

func (b *builder) join(j *Join) ([]branch, error) {
	if len(j.Stages) < 2 && !j.Cycle {
		return nil, diag.Errorf(diag.Run, "join", "", "got %d stage, want at least two", len(j.Stages)).
			WithHint("give the starts and the ends: join([a], [b], key = \"tid\")")
	}
	var all []branch
	var stages [][]branch
	for i, s := range j.Stages {
		brs, err := b.branchesOf(s)
		if err != nil {
			return nil, err
		}
		if len(brs) == 0 {
			return nil, diag.Errorf(diag.Run, "join", fmt.Sprintf("stage %d", i+1), "has no events").
				WithHint("every stage needs an event that exists here")
		}
		before := len(all)
		if all, err = b.distinct(append(all, brs...)); err != nil {
			return nil, err
		}
		stages = append(stages, append([]branch(nil), all[before:]...))
	}
	n := &joinNode{spec: j, run: &JoinRun{Spec: j}}
	key := Fn{Text: "cpu"}
	if b.env.ByThread {
		key.Text = "tid"
	}
	if j.Key != nil {
		key = *j.Key
	}
	fn, err := b.keyFn(key, all)
	if err != nil {
		return nil, err
	}
	n.run.Key = key.label()
	n.js = join.Spec{Key: fn, Cycle: j.Cycle, Limit: j.Limit, NeedKey: true, ByRing: key.Text == "cpu" && key.Call == nil}
	pairs := b.pairs(n, stages)
	b.joins = append(b.joins, n)
	b.plan.Joins = append(b.plan.Joins, n.run)
	b.attach(n.name, all, n)
	return pairs, nil
}

// keyFn compiles a key for all branches and checks that its kinds agree.
func (b *builder) keyFn(key Fn, brs []branch) (*flow.Fn, error) {
	fn, err := b.fn(key, brs, expr.Any)
	if err != nil {
		return nil, err
	}
	first := fn.Any().Type
	for _, br := range brs {
		p := fn.At(br.stream)
		if p.Type.Kind != first.Kind && !(p.Type.Numeric() && first.Numeric()) {
			return nil, located(diag.Errorf(diag.Run, "key", key.label(), "is a %s for %s, but a %s for others",
				p.Type, b.plan.streams[br.stream].Label, first).WithHint("use keys of one kind"), key.Pos)
		}
	}
	return fn, nil
}

// pairs makes a stream for every start and end that can meet.
func (b *builder) pairs(n *joinNode, stages [][]branch) []branch {
	var brs []branch
	for i := range stages {
		next := i + 1
		if next == len(stages) {
			if !n.spec.Cycle {
				break
			}
			next = 0
		}
		for _, s := range stages[i] {
			for _, e := range stages[next] {
				st := b.madeStream(b.pairSchema(n, s, e))
				n.setPair(s.stream, e.stream, st)
				n.run.Names = append(n.run.Names, st.Label)
				sc := b.scope(nil, st.Schema)
				sc.Parts = map[string]*event.Schema{"start": s.scope.Schema, "end": e.scope.Schema}
				for name, v := range s.scope.Vars {
					sc.Vars["start."+name] = expr.Rebind(v, expr.Self, expr.Start)
				}
				for name, v := range e.scope.Vars {
					sc.Vars["end."+name] = expr.Rebind(v, expr.Self, expr.End)
				}
				brs = append(brs, branch{root: n, stream: st.Index, scope: sc})
				if n.name == "" {
					n.name = st.Label
				}
			}
		}
	}
	total := len(b.plan.streams)
	n.js.Stage = make([]int, total)
	for i := range n.js.Stage {
		n.js.Stage[i] = -1
	}
	for i, stage := range stages {
		for _, br := range stage {
			n.js.Stage[br.stream] = i
		}
	}
	for len(n.js.Pairs) < total {
		n.js.Pairs = append(n.js.Pairs, nil)
	}
	for i := range n.js.Pairs {
		for len(n.js.Pairs[i]) < total {
			n.js.Pairs[i] = append(n.js.Pairs[i], nil)
		}
	}
	return brs
}

func (n *joinNode) setPair(start, end int, st *event.Stream) {
	for len(n.js.Pairs) <= start {
		n.js.Pairs = append(n.js.Pairs, nil)
	}
	for len(n.js.Pairs[start]) <= end {
		n.js.Pairs[start] = append(n.js.Pairs[start], nil)
	}
	n.js.Pairs[start][end] = st
}

// shortLabel is the alias or the name without its system.
func (b *builder) shortLabel(br branch) string {
	st := b.plan.streams[br.stream]
	if st.Label != st.Schema.FullName() {
		return st.Label
	}
	return st.Schema.Name
}

// pairSchema describes the events of a pair: its delay and key, beside the
// facts of its end.
func (b *builder) pairSchema(n *joinNode, s, e branch) *event.Schema {
	start, end := b.shortLabel(s), b.shortLabel(e)
	label := start + " => " + end
	if n.spec.Label != nil {
		label = n.spec.Label(start, end)
	}
	key := event.Field{Name: "key", Type: "u64", Place: event.InSlot, Signed: true, Size: 8}
	if p := n.js.Key.Any(); p.Type.Kind == expr.Str {
		key.Kind, key.Type = event.Str, "char[]"
	}
	return &event.Schema{System: "pair", Name: label, Fields: []event.Field{
		{Name: "delay", Type: "u64", Place: event.InFact, Fact: event.FactDelay, Unit: event.Nanos, Size: 8, Signed: true},
		key,
	}}
}
