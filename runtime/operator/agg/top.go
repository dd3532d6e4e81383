package agg

import (
	"cmp"
	"fmt"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
)

// Top finds the Agg.N most frequent values, each with its count.
var Top = &Op{
	Name:    "top",
	Summary: "Finds the most frequent values of a number or text.",
	Result:  "a list of (value, count), most frequent first; at most 65536 values are distinguished",
	Cost:    "40 ns per event; 100 bytes for each value",
	Param: &Param{
		Name: "n", Doc: "how many", Whole: true, Default: 3,
		Set: func(a *Agg, v float64) (string, error) {
			if v < 1 {
				return "", fmt.Errorf("got %.0f, want at least 1", v)
			}
			a.N = int(v)
			return "", nil
		},
	},
	Column: Column{Stacks: true, Values: true},
	New:    func(a *Agg, w *Workspace) State { return &top{agg: a, work: w} },
}

// top counts how often each value came. Nothing is allocated for a value that
// came before.
type top struct {
	agg    *Agg
	work   *Workspace
	keys   *key.Texts
	values []event.Value // by row of keys
	n      []uint64
}

func (t *top) Add(n event.Number) { t.AddValue(n.Value()) }

func (t *top) AddValue(v event.Value) { t.addCount(v, 1) }

// addCount adds a value that came n times.
func (t *top) addCount(v event.Value, n uint64) {
	if t.keys == nil {
		t.keys = key.NewTexts(distinctLimit)
	}
	t.work.pack = key.AppendValue(t.work.pack[:0], v)
	row, fresh := t.keys.Insert(t.work.pack)
	switch {
	case row == key.None:
		t.work.evicted += n
	case fresh:
		t.values, t.n = append(t.values, v), append(t.n, n)
	default:
		t.n[row] += n
	}
}

// Cell returns the most frequent values as a list of (value, count). Among
// equal counts, the value that came first is first.
func (t *top) Cell() event.Value {
	order := make([]int, len(t.n))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(t.n[j], t.n[i]) })

	var list []event.Value
	for _, i := range order[:min(t.agg.N, len(order))] {
		list = append(list, event.ListOf(t.values[i], event.UintOf(t.n[i])))
	}
	return event.ListOf(list...)
}

// Reset frees a table that stayed empty since the last Reset.
func (t *top) Reset() {
	if len(t.n) == 0 {
		t.keys, t.values, t.n = nil, nil, nil
		return
	}
	t.keys.Reset()
	t.values, t.n = t.values[:0], t.n[:0]
}
