package result

import "ppscript/runtime/event"

// AddTotals adds a row with the sums of all value columns; the first cell is
// the label.
func (t *Table) AddTotals(label string) {
	sums := make([]event.Value, len(t.Columns))
	for i, c := range t.Columns {
		if c.Kind == KeyColumn || c.Type != Plain {
			continue
		}
		for _, row := range t.Rows {
			sums[i] = plus(sums[i], row[i])
		}
		if i < len(t.Other) {
			sums[i] = plus(sums[i], t.Other[i])
		}
	}
	if len(sums) > 0 {
		sums[0], t.Total = event.StrOf(label), label
	}
	t.Rows = append(t.Rows, sums)
}

// plus adds two numbers of the same kind. Empty cells and texts are ignored.
func plus(a, b event.Value) event.Value {
	switch {
	case !b.Numeric():
		return a
	case !a.Numeric():
		return b
	case b.Kind == event.DurationValue:
		return event.DurationOf(a.Int() + b.Int())
	case b.Kind == event.FloatValue:
		return event.FloatOf(a.Float() + b.Float())
	}
	return event.IntOf(a.Int() + b.Int())
}

// Exceeds reports whether any row has a non-zero value in a column. It is true
// for an unknown column.
func (t *Table) Exceeds(column string) bool {
	i, err := t.Index(column)
	if err != nil {
		return true
	}
	for _, row := range t.Rows {
		if row[i].Bool() {
			return true
		}
	}
	return false
}
