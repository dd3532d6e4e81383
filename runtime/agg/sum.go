package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Sum adds numbers up. The sum of nothing is 0.
var Sum = &Op{
	Name:    "sum",
	Summary: "Adds up a number.",
	Result:  "the sum, signed, in the number's unit",
	Cost:    "1 ns per event",
	Numeric: true,
	Column:  Column{Width: 16, Merging: result.Added},
	Cell:    func(a *Agg, m *Measure) event.Value { return a.Type.Number(m.Sum) },
	Kernel:  &Kept{Sum: true},
}
