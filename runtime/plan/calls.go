package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/text/diag"
)

// This file is about joins of calls: entries and returns that nest, and the
// table that shows them as a tree.

// nestedPairs makes a stream for the calls of each function.
func (n *JoinOp) nestedPairs(b *builder) ([]branch, error) {
	slot := func(name, typ string, at int, u event.Unit) event.Field {
		f := event.Field{Name: name, Type: typ, Place: event.InSlot, Offset: at, Size: 8, Signed: true}
		f.Unit = u
		return f
	}
	var brs []branch
	var names []string
	for i, stage := range n.stages {
		if len(stage) != 2 {
			return nil, diag.Errorf(diag.Run, "join", "",
				"stage %d has %d events, want an entry and its return", i+1, len(stage)).
				WithHint("write join([entry, return], [entry2, return2], impl = \"nested\")")
		}
		names = append(names, b.plan.shortLabel(stage[0]))
		brs = append(brs, n.pair(b, stage[0], stage[1],
			slot("node", "int", join.SlotNode, event.NoUnit),
			slot("depth", "int", join.SlotDepth, event.NoUnit),
			slot("self", "u64", join.SlotSelf, event.Nanos)))
	}
	n.calls = names
	return brs, nil
}

// treeOf finds the join of calls that a table by tree node belongs to.
func treeOf(b *builder, s Stream) (*JoinOp, error) {
	nodes, err := joinsOf(b, s, "calls")
	if err != nil {
		return nil, err
	}
	if len(nodes) != 1 || !nodes[0].spec.Nested {
		return nil, diag.Errorf(diag.Run, "calls", "", "the pairs are not those of one join of calls").
			WithHint("write join([entry, return], [entry2, return2], impl = \"nested\").calls()")
	}
	return nodes[0], nil
}
