package result

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file counts samples by where they were taken, without their callers, as perf report --sort does.
// Only the innermost function with code of its own counts: functions that were inlined into it have no
// symbol in the program's file, and perf counts them for it, too.

// The places that Flat groups by, besides the keys of the stacks.
const (
	FlatDSO    = "dso"
	FlatSymbol = "symbol"
)

// Flat is a table of the samples by keys of the stacks, or by dso and symbol of the innermost function,
// the heaviest row first. It has all rows if top is 0.
func (s *Stacks) Flat(by []string, top int) (*Table, error) {
	cell, err := s.flatKeys(by)
	if err != nil {
		return nil, err
	}
	t := &Table{Meta: s.Meta, Columns: []Column{
		{Name: "share", Unit: unit.Percent, Prec: UnitPrec}, {Name: "samples", Merging: Added},
	}}
	if s.Value != "" {
		t.Columns = append(t.Columns, Column{Name: s.Value, Unit: s.Unit, Prec: UnitPrec, Merging: Added})
	}
	for _, name := range by {
		column := Column{Name: name, Left: true, Kind: KeyColumn}
		if i := slices.IndexFunc(s.Keys, func(c Column) bool { return c.Name == name }); i >= 0 {
			column = s.Keys[i]
		}
		t.Columns = append(t.Columns, column)
	}
	rows, all := s.flatRows(cell)
	for _, r := range rows {
		share := 0.0
		if all != 0 {
			share = 100 * float64(s.weightOf(r)) / float64(all)
		}
		cells := []event.Value{event.FloatOf(share), event.UintOf(r.Count)}
		if s.Value != "" {
			cells = append(cells, event.IntOf(r.Value))
		}
		t.Rows = append(t.Rows, append(cells, r.Key...))
	}
	if top > 0 && len(t.Rows) > top {
		t.Omitted = len(t.Rows) - top
		t.Rows = t.Rows[:top]
	}
	return t, nil
}

// flatKeys returns a function that reads each column's cell from a sample.
func (s *Stacks) flatKeys(by []string) ([]func(x *StackSample) event.Value, error) {
	var cells []func(x *StackSample) event.Value
	names := []string{FlatDSO, FlatSymbol}
	for _, k := range s.Keys {
		names = append(names, k.Name)
	}
	for _, name := range by {
		at := slices.IndexFunc(s.Keys, func(c Column) bool { return c.Name == name })
		switch {
		case at >= 0:
			cells = append(cells, func(x *StackSample) event.Value { return x.Key[at] })
		case name == FlatDSO:
			cells = append(cells, func(x *StackSample) event.Value {
				return event.StrOf(x.innermost().dsoName())
			})
		case name == FlatSymbol:
			cells = append(cells, func(x *StackSample) event.Value {
				return event.StrOf(x.innermost().Name())
			})
		default:
			return nil, diag.Errorf(diag.Run, "flat", name, "no such key%s", diag.DidYouMean(name, names)).
				WithHint("use one of: %s", strings.Join(names, ", "))
		}
	}
	return cells, nil
}

// flatRows adds up the samples with equal cells, and their weights.
func (s *Stacks) flatRows(cell []func(x *StackSample) event.Value) (rows []*StackSample, all int64) {
	seen := map[string]*StackSample{}
	for i := range s.Samples {
		x := &s.Samples[i]
		key := make([]event.Value, len(cell))
		var id strings.Builder
		for c, f := range cell {
			key[c] = f(x)
			text := key[c].String()
			id.WriteString(text)
			id.WriteByte(0)
		}
		r := seen[id.String()]
		if r == nil {
			r = &StackSample{Key: key}
			seen[id.String()] = r
			rows = append(rows, r)
		}
		r.Count += x.Count
		r.Value += x.Value
		all += s.weightOf(x)
	}
	slices.SortStableFunc(rows, func(a, b *StackSample) int {
		return cmp.Compare(s.weightOf(b), s.weightOf(a))
	})
	return rows, all
}

// weightOf is what a sample counts for: its value if there is one.
func (s *Stacks) weightOf(x *StackSample) int64 {
	if s.Value != "" {
		return x.Value
	}
	return int64(x.Count)
}

// innermost is the function that ran. Code that nobody knows is a frame without names.
func (s CallStack) innermost() *Frame {
	for _, f := range s.Frames {
		if !f.Inline {
			return f
		}
	}
	return &Frame{}
}

// dsoName is the name of the frame's file without its folder, as perf shows it.
func (f *Frame) dsoName() string {
	switch {
	case f.DSO == "":
		return Unknown
	case strings.HasPrefix(f.DSO, "/"):
		return path.Base(f.DSO)
	}
	return f.DSO
}
