package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Sum adds numbers up. The sum of nothing is 0.
var Sum = &Op{
	Name:    "sum",
	Summary: "Adds up a number.",
	Result:  "the sum, in the number's unit; one that does not fit 64 bits as the nearest floating-point number",
	Cost:    "1 ns per event",
	Numeric: true,
	moves:   linear,
	Column:  Column{Width: 16, Merging: result.Added},
	Cell:    sumCell,
	Kernel:  &Kept{Sum: true},
}

func sumCell(a *Agg, m *Measure) event.Value {
	if m.N == 0 {
		return TotalOf(event.NumberOf(a.Type.ValueKind(), 0)).Value()
	}
	return a.sum(m)
}
