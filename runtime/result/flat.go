package result

import (
	"path"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/text/diag"
	"ppscript/runtime/text/unit"
)

// This file counts samples by the function in which they were taken, without its callers, like perf
// report --sort. Only the innermost function with code of its own counts: functions that were
// inlined into it have no symbol in the program's file, and perf adds their samples to it, too.

// The names that Flat can group by, besides the keys of the stacks: the file
// and the symbol of the innermost function.
const (
	FlatDSO    = "dso"
	FlatSymbol = "symbol"
)

// Flat makes a table of the samples, grouped by keys of the stacks or by dso and symbol of the
// innermost function. The heaviest row comes first. The table has at most top rows, or all if top
// is 0.
func (s *Stacks) Flat(by []string, top int) (*Table, error) {
	cells, err := s.flatKeys(by)
	if err != nil {
		return nil, err
	}
	// Stacks without frames are equal if their keys are.
	flat := Stacks{Value: s.Value, Samples: make([]StackSample, len(s.Samples))}
	for i := range s.Samples {
		x := &s.Samples[i]
		key := make([]event.Value, len(cells))
		for c, cell := range cells {
			key[c] = cell(x)
		}
		flat.Samples[i] = StackSample{Key: key, Count: x.Count, Value: x.Value}
	}
	flat.Merge()
	flat.Sort()
	count, value := flat.Total()
	all := flat.Weight(&StackSample{Count: count, Value: value})
	if top > 0 {
		flat.Top(top)
	}
	t := &Table{Meta: s.Meta, Omitted: flat.Omitted, Columns: []Column{
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
	for i := range flat.Samples {
		r := &flat.Samples[i]
		share := 0.0
		if all != 0 {
			share = 100 * float64(flat.Weight(r)) / float64(all)
		}
		row := []event.Value{event.FloatOf(share), event.UintOf(r.Count)}
		if s.Value != "" {
			row = append(row, event.IntOf(r.Value))
		}
		t.Rows = append(t.Rows, append(row, r.Key...))
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

// innermost returns the frame of the function that ran, or an empty frame if the stack
// has none.
func (s CallStack) innermost() *Frame {
	for _, f := range s.Frames {
		if !f.Inline {
			return f
		}
	}
	return &Frame{}
}

// dsoName returns the name of the frame's file without its folder, as perf
// shows it.
func (f *Frame) dsoName() string {
	switch {
	case f.DSO == "":
		return Unknown
	case strings.HasPrefix(f.DSO, "/"):
		return path.Base(f.DSO)
	}
	return f.DSO
}
