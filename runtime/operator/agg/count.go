package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// Count counts events.
var Count = &Op{
	Name:    "count",
	Summary: "Counts events.",
	Result:  "a number of events",
	Cost:    "1 ns per event",
	Bare:    true,
	Column:  Column{Width: 8, Plain: true, Merging: result.Added},
	Cell:    func(_ *Agg, m *Measure) event.Value { return event.IntOf(int64(m.N)) },
	Kernel:  &Kept{},
}
