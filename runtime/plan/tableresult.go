package plan

import (
	"slices"

	"ppscript/runtime/result"
	"ppscript/runtime/result/view"
)

// Result makes the table, or the histogram, of the interval that ends now: the rows of the group,
// as the script shows them.
func (t *Table) Result(m result.Meta) (*result.Table, error) {
	v := &t.Spec.View
	if t.Hist >= 0 {
		other, _ := t.Group.OtherHistogram(t.Hist)
		return v.Histogram(m, t.Group.Histograms(t.Hist), other, t.Columns, t.shows)
	}
	m.Title = view.Title(m.Title, &m)
	table := &result.Table{
		Meta: m, Columns: slices.Clone(t.Columns), Rows: t.whole(t.Group.Rows()), Layout: v.Layout,
		Other: t.Group.Other(),
	}
	if t.Group.AddMargins(table); m.Keep {
		t.spread(table)
	}
	if t.Tree != nil {
		t.Tree.Rows(table)
	}
	if err := v.Table(table, t.shows); err != nil {
		return nil, err
	}
	return table, nil
}

// spread adds the distributions behind a table's quantiles.
func (t *Table) spread(table *result.Table) {
	keys := len(t.Spec.By)
	told := map[int]bool{}
	for i := range t.spec.Aggs {
		arg := t.spec.Aggs[i].Arg
		rows, ok := t.Group.Spread(arg)
		if !ok || told[arg] {
			continue
		}
		told[arg] = true
		name, value := t.Spec.Aggs[i].Name, t.Columns[keys+i]
		if fn := t.Spec.Aggs[i].Arg; fn != nil && fn.Text != "" {
			name = fn.Text
		}
		table.Spreads = append(table.Spreads, result.NewHistogram(table.Meta, table.Columns[:keys],
			result.Column{Name: name, Unit: value.Unit}, rows))
	}
}
