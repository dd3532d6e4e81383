package agg

import "ppscript/runtime/event"

// Avg is the mean of numbers.
var Avg = &Op{
	Name:    "avg",
	Summary: "Averages a number.",
	Result: "sum divided by count: of integers rounded towards 0, of booleans the share that is true; nothing if " +
		"there was none",
	Cost:    "1 ns per event",
	Numeric: true,
	moves:   linear,
	Column:  Column{Width: 12},
	Cell: func(a *Agg, m *Measure) event.Value {
		if m.N == 0 {
			return event.Value{}
		}
		return a.mean(m)
	},
	Kernel: &Kept{Sum: true},
}
