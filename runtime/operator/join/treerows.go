package join

import (
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// The separator of the names in a path.
const pathSep = ";"

// Rows turns rows by node, the first column, into rows by path in the
// order of the tree. Callers that have not returned yet have rows without
// numbers. The column R, the second, is filled.
func (t *Tree) Rows(table *result.Table) {
	byNode := map[int64][]event.Value{}
	for _, row := range table.Rows {
		byNode[row[0].Int()] = row
	}
	wanted := map[int32]bool{}
	for id := range byNode {
		for n := int32(id); n > 0; n = t.Parent(n) {
			wanted[n] = true
		}
	}
	rows := table.Rows[:0:0]
	t.Walk(func(node int32, depth int) {
		if !wanted[node] {
			return
		}
		row := byNode[int64(node)]
		if row == nil {
			row = make([]event.Value, len(table.Columns))
		}
		row[0] = event.StrOf(strings.Join(t.Path(node), pathSep))
		row[1] = event.StrOf("")
		if t.Recursive(node) {
			row[1] = event.StrOf("R")
		}
		rows = append(rows, row)
	})
	table.Rows = rows
	table.Columns[0].Text = branchText
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
