package agg

import "ppscript/runtime/event"

// Last keeps the newest value.
var Last = &Op{
	Name:    "last",
	Summary: "Keeps the newest value, number or text.",
	Result:  "the value of the newest event",
	Cost:    "20 ns per event",
	Column:  Column{Width: 12, Stacks: true, Values: true},
	Ordered: true,
	New:     func(*Agg, *Workspace) State { return &last{} },
	Kernel:  &Kept{Newest: true},
}

type last struct {
	value event.Value
	at    event.Time // of a part of the kernel's
}

func (l *last) Add(n event.Number)     { l.value = n.Value() }
func (l *last) AddValue(v event.Value) { l.value = v }
func (l *last) Cell() event.Value      { return l.value }
func (l *last) Reset()                 { l.value, l.at = event.Value{}, 0 }

// AddPartial implements partialState.
func (l *last) AddPartial(p *Partial, arg int) {
	if n := &p.Newest[arg]; n.Time >= l.at {
		l.value, l.at = n.Value, n.Time
	}
}
