package agg

import (
	"cmp"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/key"
)

// counts is how often each value came: the state of a Top. Nothing is
// allocated for a value that came before.
type counts struct {
	keys   *key.Texts
	values []event.Value // by row of keys
	n      []uint64
}

// count adds one to a value's count.
func (x *extra) count(g *Group, v event.Value) {
	if x.top == nil {
		x.top = &counts{keys: key.NewTexts(distinctLimit)}
	}
	g.pack = key.AppendValue(g.pack[:0], v)
	row, fresh := x.top.keys.Insert(g.pack)
	switch {
	case row == key.None:
		g.evicted++
	case fresh:
		x.top.values, x.top.n = append(x.top.values, v), append(x.top.n, 1)
	default:
		x.top.n[row]++
	}
}

// most is the n most frequent values as a list of (value, count); of equal
// counts the one that came first.
func (c *counts) most(n int) event.Value {
	order := make([]int, len(c.n))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.n[j], c.n[i]) })
	var list []event.Value
	for _, i := range order[:min(n, len(order))] {
		list = append(list, event.ListOf(c.values[i], event.UintOf(c.n[i])))
	}
	return event.ListOf(list...)
}

func (c *counts) reset() {
	c.keys.Reset()
	c.values, c.n = c.values[:0], c.n[:0]
}
