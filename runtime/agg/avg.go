package agg

import "ppscript/runtime/event"

// Avg is the mean of numbers.
var Avg = &Op{
	Name:    "avg",
	Summary: "Averages a number.",
	Result:  "sum divided by count, rounded towards 0; nothing if there was none",
	Cost:    "1 ns per event",
	Numeric: true,
	Column:  Column{Width: 12},
	Cell: func(a *Agg, m *Measure) event.Value {
		if m.N == 0 {
			return event.Value{}
		}
		return a.Type.Number(m.Sum / int64(m.N))
	},
	Kernel: &Kept{Sum: true},
}
