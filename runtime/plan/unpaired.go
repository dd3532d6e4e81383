package plan

import (
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/join"
)

// Unpaired is the events of a join that stay without a partner.
type Unpaired struct {
	Of Stream // the pairs
	// Waiting also delivers what still waits, whenever an interval ends.
	Waiting bool
}

// Inputs implements Stream.
func (u *Unpaired) Inputs() []Stream { return []Stream{u.Of} }

// A leftRoot is where the unpaired events of a join come from.
type leftRoot struct {
	next    flow.Fan
	streams []branch
}

func (r *leftRoot) attach(s flow.Sink) { r.next.Next = append(r.next.Next, s) }

func (r *leftRoot) sink() flow.Sink {
	if len(r.next.Next) == 1 {
		return r.next.Next[0]
	}
	return &r.next
}

func (b *builder) unpaired(u *Unpaired) ([]branch, error) {
	nodes, err := b.joinsOf(u.Of, "unpaired")
	if err != nil {
		return nil, err
	}
	var brs []branch
	for _, n := range nodes {
		if n.left == nil {
			b.leave(n)
		}
		n.js.LeftWaiting = n.js.LeftWaiting || u.Waiting
		brs = append(brs, n.left.streams...)
	}
	return brs, nil
}

// joinsOf finds the joins that the pairs of s come from.
func (b *builder) joinsOf(s Stream, who string) ([]*joinNode, error) {
	brs, err := b.branchesOf(s)
	if err != nil {
		return nil, err
	}
	var nodes []*joinNode
	seen := map[*joinNode]bool{}
	for _, br := range brs {
		n, ok := br.root.(*joinNode)
		if !ok {
			return nil, diag.Errorf(diag.Run, who, "", "the stream has events that are not pairs").
				WithHint("join two stages first: join([start], [end], key = ...)")
		}
		if !seen[n] {
			seen[n] = true
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// leave makes the streams of a join's unpaired events.
func (b *builder) leave(n *joinNode) {
	n.left = &leftRoot{}
	for _, stage := range n.stages {
		for _, br := range stage {
			st := b.madeStream(&event.Schema{System: "unpaired", Name: b.shortLabel(br), Fields: []event.Field{
				{Name: "age", Type: "u64", Place: event.InSlot, Offset: join.SlotAge, Unit: event.Nanos, Size: 8, Signed: true},
				{Name: "reason", Type: "char[]", Kind: event.Str, Place: event.InSlot, Offset: join.SlotReason},
				joinKeyField(br.marks.key, join.SlotKey),
			}})
			sc := b.scope(nil, st.Schema)
			sc.Parts = map[string]*event.Schema{"start": br.scope.Schema, "end": {}}
			for name, v := range br.scope.Vars {
				sc.Vars["start."+name] = expr.Rebind(v, expr.Self, expr.Start)
			}
			// What a pair has, and an event without a partner has not.
			sc.Vars["end.event"] = expr.NewStr("")
			for len(n.js.Left) <= br.stream {
				n.js.Left = append(n.js.Left, nil)
			}
			n.js.Left[br.stream] = st
			n.left.streams = append(n.left.streams, branch{root: n.left, stream: st.Index, scope: sc})
		}
	}
	for len(n.js.Left) < len(b.plan.streams) {
		n.js.Left = append(n.js.Left, nil)
	}
}
