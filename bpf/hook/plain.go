package hook

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// Plain reports that n only reads and compares numbers of the event, without
// calls.
func Plain(n expr.Node) bool {
	ok := true
	expr.Walk(n, func(n expr.Node) bool {
		switch n := n.(type) {
		case *expr.Const:
			ok = ok && n.T.Numeric()
		case *expr.Field:
			ok = ok && n.Part == expr.Self && n.View == expr.ViewValue && n.F.Place == event.InRaw &&
				n.F.Kind == event.Int && n.F.Name != "common_pid" && n.F.Of == nil
		case *expr.Unary:
			ok = ok && (n.Op == expr.OpNotB || n.Op == expr.OpTruth || n.Op == expr.OpToInt)
		case *expr.Binary:
			ok = ok && (n.Op >= expr.OpEq && n.Op <= expr.OpLeUS || n.Op == expr.OpAnd ||
				n.Op == expr.OpAndB || n.Op == expr.OpOrB)
		case *expr.Ext, *expr.Quantity:
		default:
			ok = false
		}
		return ok
	})
	return ok
}
