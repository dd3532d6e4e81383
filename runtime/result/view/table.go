package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/result"
	"ppscript/runtime/text/plain"
)

// This file finishes the table of an interval: .sort, .top, .with_, .unit and .format.

// Title replaces {samples} and {total} in a title by the numbers of an
// interval.
func Title(title string, m *result.Meta) string {
	return strings.NewReplacer("{samples}", strconv.FormatUint(m.Samples, 10),
		"{total}", strconv.FormatUint(m.TotalSamples, 10)).Replace(title)
}

// Table applies the view to a table. shows return the texts of cells, by column; nil
// shows the value.
func (v *View) Table(t *result.Table, shows []Show) error {
	for row := range t.All() {
		exact(row, shows)
	}
	if v.OnlyIf != "" && !t.Exceeds(v.OnlyIf) {
		if t.Keep {
			t.Rest = t.Rows
		}
		t.Rows = nil
	}

	// Consecutive sorts are applied together: the first one is the most
	// important.
	var sorts []Step
	for _, s := range v.Steps {
		if s.Sort != "" {
			sorts = append(sorts, s)
			continue
		}
		if err := v.sort(t, sorts); err != nil {
			return err
		}
		sorts = nil
		switch {
		case s.With != "":
			if err := v.with(t, s); err != nil {
				return err
			}
		case s.Totals != "":
			t.AddTotals(s.Totals)
		case s.Top > 0:
			t.Top(s.Top)
		}
	}
	if err := v.sort(t, sorts); err != nil {
		return err
	}
	if err := v.dress(t, shows); err != nil {
		return err
	}
	v.others(t)
	return nil
}

// exact converts texts of cells to valid UTF-8. Different texts stay different, and none becomes
// the key of the common row of other keys. Bytes that have a name, such as an IP address, are not
// changed, since the name is looked up by them.
func exact(row []event.Value, shows []Show) {
	for i, v := range row {
		if i < len(shows) && shows[i] != nil && inexact(v) {
			if _, named := shows[i](v); named {
				continue
			}
		}
		switch v.Kind {
		case event.StrValue:
			if text := exactText(v.String()); text != v.String() {
				row[i] = event.StrOf(text)
			}
		case event.ListValue:
			if slices.ContainsFunc(v.List(), inexact) {
				list := slices.Clone(v.List())
				exact(list, nil)
				row[i] = event.ListOf(list...)
			}
		}
	}
}

// inexact reports whether exact changes a cell.
func inexact(v event.Value) bool {
	switch v.Kind {
	case event.StrValue:
		return exactText(v.String()) != v.String()
	case event.ListValue:
		return slices.ContainsFunc(v.List(), inexact)
	}
	return false
}

func exactText(s string) string { return agg.Named(plain.Exact(s)) }

// others moves Table.Other to the end of the rows, before the row of sums. It is left out
// if the script makes lines from rows, since its functions expect keys.
func (v *View) others(t *result.Table) {
	other := t.Other
	t.Other = nil
	if other == nil || v.Row != nil || v.Pack != nil || v.OnlyIf != "" && len(t.Rows) == 0 {
		return
	}
	sayOther(t.Columns)
	at := len(t.Rows)
	if t.Total != "" {
		at--
	}
	t.Rows = slices.Insert(t.Rows, at, other)
}

// sayOther prevents that functions of scripts make texts for the cells of Table.Other.
func sayOther(columns []result.Column) {
	for i := range columns {
		c := &columns[i]
		if text := c.Text; text != nil {
			c.Text = func(cell event.Value) string {
				if cell.Kind == event.None || cell.Kind == event.StrValue && cell.String() == agg.OtherKey {
					return cell.String()
				}
				return text(cell)
			}
		}
	}
}

// sort orders rows by the first of the sorts, rows with equal cells by the
// next, and so on.
func (v *View) sort(t *result.Table, sorts []Step) error {
	for _, s := range slices.Backward(sorts) {
		if err := t.Sort(s.Sort, s.Reverse); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) with(t *result.Table, s Step) error {
	names := t.Names()
	c := result.Column{Name: s.With, Prec: result.UnitPrec, Unit: s.Unit, Width: 6}
	if s.Share != "" {
		return share(t, c, s.Share)
	}
	return t.AppendColumn(c, func(row []event.Value) (event.Value, error) { return s.Fn(names, row) })
}

// share adds a column with each row's share of a column's sum, in percent.
func share(t *result.Table, c result.Column, of string) error {
	i, err := t.Index(of)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, row := range t.Rows {
		sum += row[i].Float()
	}
	return t.AppendColumn(c, func(row []event.Value) (event.Value, error) {
		if sum == 0 {
			return event.FloatOf(0), nil
		}
		return event.FloatOf(100 * row[i].Float() / sum), nil
	})
}

// dress sets units, widths, texts and names of columns, and removes hidden
// columns.
func (v *View) dress(t *result.Table, shows []Show) error {
	for _, name := range sorted(v.Units) {
		u := v.Units[name]
		if name == "" {
			if err := t.WithUnit(u); err != nil {
				return err
			}
			continue
		}
		i, err := t.Index(name)
		if err != nil {
			return err
		}
		t.Columns[i].Unit = u
	}
	for _, name := range sorted(v.Widths) {
		i, err := t.Index(name)
		if err != nil {
			return err
		}
		w := v.Widths[name]
		c := &t.Columns[i]
		c.Width = cmp.Or(w.Min, c.Width)
		c.Left = w.Left || c.Left && !w.Right
		c.Sep = w.Sep
		if w.Prec != nil {
			c.Prec = *w.Prec
		}
		c.ShareOf, c.Alarm, c.Clock = w.ShareOf, w.Alarm, w.Clock
		c.Head = cmp.Or(w.Title, c.Head)
		if w.Shape != nil {
			if err := setText(t, i, w.Shape); err != nil {
				return err
			}
			c.Shape = true
		}
	}
	for _, name := range sorted(v.Texts) {
		i, err := t.Index(name)
		if err != nil {
			return err
		}
		if err := setText(t, i, v.Texts[name]); err != nil {
			return err
		}
	}
	NameCells(t.Columns, v.named(t.Columns, shows), t.All())
	if v.Pack != nil && len(t.Rows) > 0 {
		text, err := v.Pack(t.Names(), t.Rows)
		if err != nil {
			return err
		}
		t.Layout.Packed = text
	}
	if v.Row == nil {
		v.arrange(t)
		return nil
	}
	// Lines are made before hidden columns are removed, which makes new rows in
	// the same order.
	texts, err := v.Row(t.Names(), t.Rows)
	if err != nil {
		return err
	}
	v.arrange(t)
	lines := map[*event.Value]string{}
	for i, row := range t.Rows {
		if len(row) > 0 {
			lines[&row[0]] = texts[i]
		}
	}
	t.Layout.RowText = func(row []event.Value) string {
		if len(row) == 0 {
			return ""
		}
		return lines[&row[0]]
	}
	return nil
}

// setText makes the texts of column i. Column.Text cannot return an error, so
// all texts are made now.
func setText(t *result.Table, i int, fn CellFunc) error {
	texts := map[string]string{}
	for row := range t.All() {
		if i >= len(row) {
			continue
		}
		text, err := fn(row[i])
		if err != nil {
			return err
		}
		texts[row[i].String()] = text
	}
	t.Columns[i].Text = func(v event.Value) string { return texts[v.String()] }
	return nil
}

// beside appends the column with the margins of the last column in keep, if
// there is one, and sets its unit.
func beside(t *result.Table, keep []int, margins map[string]int) []int {
	of := &t.Columns[keep[len(keep)-1]]
	at, ok := margins[of.Name]
	if !ok {
		return keep
	}
	t.Columns[at].Unit, t.Columns[at].Prec = of.Unit, of.Prec
	return append(keep, at)
}

// arrange removes hidden columns, moves the column v.Last to the end, and moves margins to the
// columns that they belong to.
func (v *View) arrange(t *result.Table) {
	margins := map[string]int{}
	for i, c := range t.Columns {
		if c.Margin != "" {
			margins[c.Margin] = i
		}
	}
	if len(v.Hidden) == 0 && v.Last == "" && len(margins) == 0 {
		return
	}
	var keep []int
	last := -1
	for i, c := range t.Columns {
		switch {
		case v.Hidden[c.Name], c.Margin != "":
			continue
		case c.Name == v.Last:
			last = i
			continue
		}
		keep = append(keep, i)
		keep = beside(t, keep, margins)
	}
	if last >= 0 {
		keep = beside(t, append(keep, last), margins)
	}
	columns := make([]result.Column, 0, len(keep))
	for _, i := range keep {
		columns = append(columns, t.Columns[i])
	}
	t.Columns = columns
	all := [][][]event.Value{t.Rows, t.Rest}
	if t.Other != nil {
		other := [][]event.Value{t.Other}
		defer func() { t.Other = other[0] }()
		all = append(all, other)
	}
	for _, rows := range all {
		for r, row := range rows {
			short := make([]event.Value, len(keep))
			for at, i := range keep {
				if i < len(row) {
					short[at] = row[i]
				}
			}
			rows[r] = short
		}
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// TopN returns the number of rows that the view keeps; 0 is all.
func (v *View) TopN() int {
	n := 0
	for _, s := range v.Steps {
		if s.Top > 0 && (n == 0 || s.Top < n) {
			n = s.Top
		}
	}
	return n
}
