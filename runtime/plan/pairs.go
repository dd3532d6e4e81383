package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/key"
)

// pairs makes a stream for every start and end that can form a pair.
func (n *JoinOp) pairs(b *builder) []branch {
	var brs []branch
	for i := range n.stages {
		next := i + 1
		if next == len(n.stages) {
			if !n.spec.Cycle {
				break
			}
			next = 0
		}
		for _, s := range n.stages[i] {
			for _, e := range n.stages[next] {
				brs = append(brs, n.pair(b, s, e))
			}
		}
	}
	return brs
}

// pair makes the stream of the pairs of a start and an end.
func (n *JoinOp) pair(b *builder, s, e branch, more ...event.Field) branch {
	st := b.madeStream(n.pairSchema(b, s, e, more))
	n.setPair(s.stream, e.stream, st)
	n.keys = append(n.keys, &st.Schema.Fields[1])
	n.names = append(n.names, st.Label)
	sc := b.scope(nil, st.Schema)
	sc.TakeParts("start", s.scope)
	sc.TakeParts("end", e.scope)
	for name, v := range s.scope.Vars {
		sc.Vars["start."+name] = b.prints.Rebind(v, expr.Start)
	}
	for name, v := range e.scope.Vars {
		sc.Vars["end."+name] = b.prints.Rebind(v, expr.End)
	}
	sc.Vars["reason"] = expr.NewStr("paired") // unpaired events have other reasons
	sc.Vars["begin"] = beginOf()
	if n.name == "" {
		n.name = st.Label
	}
	return branch{root: n, stream: st.Index, scope: sc}
}

func (n *JoinOp) setPair(start, end int, st *event.Stream) {
	for len(n.js.Pairs) <= start {
		n.js.Pairs = append(n.js.Pairs, nil)
	}
	for len(n.js.Pairs[start]) <= end {
		n.js.Pairs[start] = append(n.js.Pairs[start], nil)
	}
	n.js.Pairs[start][end] = st
}

// pairOf is the stream of the pairs of a start and an end; nil if they make none.
func (n *JoinOp) pairOf(start, end int) *event.Stream {
	if start >= len(n.js.Pairs) || end >= len(n.js.Pairs[start]) {
		return nil
	}
	return n.js.Pairs[start][end]
}

// shortLabel is the alias or the name without its system.
func (p *Plan) shortLabel(br branch) string {
	st := p.streams[br.stream]
	if st.Label != st.Schema.FullName() {
		return st.Label
	}
	return st.Schema.Name
}

// pairSchema describes the events of a pair: its delay and key, beside the
// sample members of its end.
func (n *JoinOp) pairSchema(b *builder, s, e branch, more []event.Field) *event.Schema {
	start, end := b.plan.shortLabel(s), b.plan.shortLabel(e)
	label, named := start+" => "+end, n.spec.Label != nil
	if named {
		label = n.spec.Label(start, end)
	}
	return &event.Schema{System: "pair", Name: label, Named: named, Fields: append([]event.Field{
		{Name: "delay", Type: "u64", Place: event.InMember, Member: event.MemberDelay, Unit: event.Nanos, Size: 8, Signed: true},
		b.joinKeyField(s.marks.key, 0),
	}, more...)}
}

// joinKeyField is the field that holds the key of a derived event.
func (b *builder) joinKeyField(p *expr.Program, slot int) event.Field {
	f := key.Field(p)
	f.Offset = slot
	b.prints.NameAddresses(&f, b.prints.NodeOf(p))
	return f
}

// rawRead is the number of bytes, from the begin of an event's record, that the
// functions read; negative if unknown.
func (c *code) rawRead() int {
	if len(c.calls)+len(c.machines) > 0 {
		return -1
	}
	return expr.RecordRead(c.programs)
}

// readsKey reports that somebody may read the key of a pair.
func (n *JoinOp) readsKey(b *builder) bool {
	if n.about || len(n.opens) > 0 || len(b.calls)+len(b.machines) > 0 || b.plan.sees().key {
		return true
	}
	keys := map[*event.Field]bool{}
	for _, k := range n.keys {
		keys[k] = true
	}
	for _, p := range b.programs {
		found := p.Node == nil
		if p.Node != nil {
			expr.Walk(p.Node, func(x expr.Node) bool {
				if f, ok := x.(*expr.Field); ok {
					found = found || keys[f.F]
				}
				return !found
			})
		}
		if found {
			return true
		}
	}
	return false
}
