package bpf

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// This file finds predicates that are cheaper than the check of the event's
// task: those on numbers of the event itself come first, so that rejected events
// cost next to nothing. They cannot fail, so the order makes no difference to
// results.

// early takes the predicates with which e begins, and returns the event without
// them.
func early(e *source) (preds []expr.Node, rest *source) {
	ev := *e.Event
	c := &source{Event: &ev, feeds: e.feeds, stacked: e.stacked, serves: e.serves}
	if c.Filter != nil {
		if !plain(c.Filter) {
			return nil, e
		}
		preds, c.Filter = append(preds, c.Filter), nil
	}
	if len(c.feeds) == 1 {
		c.feeds = slices.Clone(c.feeds)
		f := &c.feeds[0]
		for len(f.preds) > 0 && plain(f.preds[0]) {
			preds, f.preds = append(preds, f.preds[0]), f.preds[1:]
		}
	}
	return preds, c
}

// plain reports that n reads and compares numbers of the event, and calls
// nothing.
func plain(n expr.Node) bool {
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
