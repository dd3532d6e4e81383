package plan

import (
	"slices"

	"ppscript/runtime/result"
	"ppscript/runtime/view"
)

// Result makes the table of the interval that ends now: the rows of the group, as the
// script shows them.
func (t *Table) Result(m result.Meta) (*result.Table, error) {
	v := &t.Spec.View
	m.Title = view.Title(m.Title, &m)
	table := &result.Table{
		Meta: m, Columns: slices.Clone(t.Columns), Rows: t.whole(t.Group.Rows()), Layout: v.Layout,
	}
	if t.Tree != nil {
		t.Tree.Rows(table)
	}
	if err := v.Table(table, t.shows); err != nil {
		return nil, err
	}
	return table, nil
}

// Histogram makes the histogram of the interval that ends now.
func (t *Table) Histogram(m result.Meta) (*result.Histogram, error) {
	return t.Spec.View.Histogram(m, t.Group.Histograms(t.Hist), t.Columns, t.shows)
}
