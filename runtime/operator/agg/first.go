package agg

import "ppscript/runtime/event"

// First keeps the oldest value.
var First = &Op{
	Name:    "first",
	Summary: "Keeps the oldest value, number or text.",
	Result:  "the value of the oldest event",
	Cost:    "20 ns per event",
	Column:  Column{Width: 12, Stacks: true, Values: true},
	Ordered: true,
	New:     func(*Agg, *Workspace) State { return &first{} },
	Kernel:  &Kept{Oldest: true},
}

type first struct {
	value event.Value
	seen  bool
	at    event.Time // of a part of the kernel's
}

func (f *first) Add(n event.Number) { f.AddValue(n.Value()) }

func (f *first) AddValue(v event.Value) {
	if !f.seen {
		f.value, f.seen = v, true
	}
}

// AddPartial implements partialState.
func (f *first) AddPartial(p *Partial, arg int) {
	if o := &p.Oldest[arg]; !f.seen || o.Time < f.at {
		f.value, f.seen, f.at = o.Value, true, o.Time
	}
}

func (f *first) Cell() event.Value { return f.value }
func (f *first) Reset()            { f.value, f.seen = event.Value{}, false }
