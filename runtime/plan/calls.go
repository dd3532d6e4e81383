package plan

import (
	"strings"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/join"
	"ppscript/runtime/result"
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

// treeOf finds the join whose tree a table of calls shows.
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

// The separator of the names in a path.
const pathSep = ";"

// treeRows turns rows by node, the first column, into rows by path in the
// order of the tree. Callers that have not returned yet have rows without
// numbers. The column R, the second, is filled.
func treeRows(t *result.Table, tree *join.Tree) {
	byNode := map[int64][]event.Value{}
	for _, row := range t.Rows {
		byNode[row[0].Int()] = row
	}
	wanted := map[int32]bool{}
	for id := range byNode {
		for n := int32(id); n > 0; n = tree.Parent(n) {
			wanted[n] = true
		}
	}
	rows := t.Rows[:0:0]
	tree.Walk(func(node int32, depth int) {
		if !wanted[node] {
			return
		}
		row := byNode[int64(node)]
		if row == nil {
			row = make([]event.Value, len(t.Columns))
		}
		row[0] = event.StrOf(strings.Join(tree.Path(node), pathSep))
		row[1] = event.StrOf("")
		if tree.Recursive(node) {
			row[1] = event.StrOf("R")
		}
		rows = append(rows, row)
	})
	t.Rows = rows
	t.Columns[0].Text = branchText
}

// branchText shows a path as the last name, indented below its callers.
func branchText(v event.Value) string {
	names := strings.Split(v.String(), pathSep)
	depth := len(names) - 1
	if depth == 0 {
		return names[0]
	}
	return strings.Repeat("  | ", depth-1) + "  |-" + names[depth]
}
