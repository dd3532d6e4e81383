package plan

import (
	"slices"
	"strconv"

	"ppscript/runtime/agg"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file keeps slots of time whole. An interval ends in the middle of a slot:
// the rows of the slot wait for the next interval, which adds the later events,
// so that each slot is shown once and whole.
//
// Tempting and wrong: to end intervals where slots do. Events arrive some time
// after they happened, so rows of the next slot are there at any moment.

// Whole says that a key column is the number of a slot of time: multiples of the
// period, in ns of the events' clock.
type Whole struct {
	Column string
	Period int64
}

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

// wholeRows are the rows of the slots that are over at t.Until, with their parts
// of earlier intervals; the others wait.
func (t *Table) wholeRows(rows [][]event.Value) [][]event.Value {
	w := t.Spec.View.Whole
	if w == nil {
		return rows
	}
	keys := len(t.Spec.By)
	at := slices.IndexFunc(t.Spec.By, func(v Var) bool { return v.Name == w.Column })
	all := t.waiting
	t.waiting = nil
	known := make(map[string]int, len(all))
	for i, row := range all {
		known[rowKey(row[:keys])] = i
	}
	for _, row := range rows {
		i, ok := known[rowKey(row[:keys])]
		if !ok {
			all = append(all, row)
			continue
		}
		for j := keys; j < len(row); j++ {
			all[i][j] = plus(all[i][j], row[j])
		}
	}
	if t.Until == 0 {
		return all
	}
	over := floorDiv(int64(t.Until), w.Period)
	done := all[:0:0]
	for _, row := range all {
		if row[at].Int() < over {
			done = append(done, row)
		} else {
			t.waiting = append(t.waiting, result.CloneRow(row))
		}
	}
	return done
}

// rowKey is a text that tells keys apart.
func rowKey(key []event.Value) string {
	var b []byte
	for _, v := range key {
		s := v.String()
		b = strconv.AppendInt(append(b, byte(v.Kind)), int64(len(s)), 10)
		b = append(append(b, ':'), s...)
	}
	return string(b)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
