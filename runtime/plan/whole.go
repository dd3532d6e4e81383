package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/text/diag"
)

// checkWhole refuses aggregators that cannot be added up.
func (g *Group) checkWhole() error {
	w := g.View.Whole
	if w == nil {
		return nil
	}
	if !slices.ContainsFunc(g.By, func(v Var) bool { return v.Name == w.Column }) {
		return diag.Errorf(diag.Run, "whole", w.Column, "is no key of the table").
			WithHint("name the key that is the number of the slot")
	}
	for i := range g.Aggs {
		if op := g.Aggs[i].Agg.Op; op != agg.Count && op != agg.Sum {
			return diag.Errorf(diag.Run, "whole", g.Aggs[i].Name,
				"a %s of two parts is not that of both", op.Name).
				WithHint("count or sum up in slots of time")
		}
	}
	return nil
}

// whole returns the rows of the time slots that ended by t.Until; the others
// wait.
func (t *Table) whole(rows [][]event.Value) [][]event.Value {
	w := t.Spec.View.Whole
	if w == nil {
		return rows
	}
	at := slices.IndexFunc(t.Spec.By, func(v Var) bool { return v.Name == w.Column })
	return t.slots.Over(rows, len(t.Spec.By), at, w.Period, t.Until)
}
