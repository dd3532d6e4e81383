package agg

import "ppscript/runtime/event"

// listLimit bounds the memory of one List.
const listLimit = 1 << 12

// List keeps all values in order, up to a bound.
var List = &Op{
	Name:    "list",
	Summary: "Collects all values in order.",
	Result:  "a list, of at most 4096 values",
	Cost:    "20 ns per event; 56 bytes for each value",
	Ordered: true,
	Column:  Column{Values: true},
	New:     func(_ *Agg, w *Workspace) State { return &list{work: w} },
}

type list struct {
	work   *Workspace
	values []event.Value
}

func (l *list) Add(n event.Number) { l.AddValue(n.Value()) }

func (l *list) AddValue(v event.Value) {
	if len(l.values) >= listLimit {
		l.work.evicted++
		return
	}
	l.values = append(l.values, v)
}

func (l *list) Cell() event.Value { return event.ListOf(l.values...) }

// Reset leaves the values alone: the row that was handed out has them.
func (l *list) Reset() { l.values = nil }
