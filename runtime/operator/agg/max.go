package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Max keeps the largest number.
var Max = &Op{
	Name:    "max",
	Summary: "Keeps the largest number.",
	Result:  "the largest; nothing if there was none",
	Cost:    "1 ns per event",
	Numeric: true,
	moves:   rising,
	Column:  Column{Width: 12, Values: true, Merging: result.Greatest},
	Cell: func(a *Agg, m *Measure) event.Value {
		if m.N == 0 {
			return event.Value{}
		}
		return a.number(m.Max())
	},
	Kernel: &Kept{Max: true},
}
