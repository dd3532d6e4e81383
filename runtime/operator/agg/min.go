package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Min keeps the smallest number.
var Min = &Op{
	Name:    "min",
	Summary: "Keeps the smallest number.",
	Result:  "the smallest; nothing if there was none",
	Cost:    "1 ns per event",
	Numeric: true,
	moves:   rising,
	Column:  Column{Width: 12, Values: true, Merging: result.Least},
	Cell: func(a *Agg, m *Measure) event.Value {
		if m.N == 0 {
			return event.Value{}
		}
		return a.number(m.Min())
	},
	Kernel: &Kept{Min: true},
}
