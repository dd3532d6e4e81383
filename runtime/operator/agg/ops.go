package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/result"
)

// This file has the aggregators that need no more than a few lines.

// Ops lists the aggregators in the order of the reference.
var Ops = []*Op{
	Count, Sum, Min, Max, Avg, StdDev, Quantile, Last, First, Distinct, Top, List,
	Hist, LHist,
}

// Count counts events.
var Count = &Op{
	Name:    "count",
	Summary: "Counts events.",
	Result:  "a number of events",
	Cost:    "1 ns per event",
	Bare:    true,
	Column:  Column{Width: 8, Plain: true, Merging: result.Added},
	Cell:    func(_ *Agg, m *Measure) event.Value { return event.IntOf(int64(m.N)) },
	Kernel:  &KernelState{},
}

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
	Kernel:  &KernelState{Sum: true},
}

func sumCell(a *Agg, m *Measure) event.Value {
	if m.N == 0 {
		return TotalOf(event.NumberOf(a.Type.ValueKind(), 0)).Value()
	}
	return a.sum(m)
}

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
	Kernel: &KernelState{Min: true},
}

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
	Kernel: &KernelState{Max: true},
}

// Avg is the mean of numbers.
var Avg = &Op{
	Name:    "avg",
	Summary: "Averages a number.",
	Result: "sum divided by count: for integers rounded towards 0, for booleans the share that is true; nothing if " +
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
	Kernel: &KernelState{Sum: true},
}

// Last keeps the newest value.
var Last = &Op{
	Name:    "last",
	Summary: "Keeps the newest value, number or text.",
	Result:  "the value of the newest event",
	Cost:    "20 ns per event",
	Column:  Column{Width: 12, Stacks: true, Values: true},
	Ordered: true,
	New:     func(*Agg, *Workspace) State { return &last{} },
	Kernel:  &KernelState{Newest: true},
}

type last struct {
	value event.Value
	at    event.Time // from the kernel's partials: the time of the value
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

// First keeps the oldest value.
var First = &Op{
	Name:    "first",
	Summary: "Keeps the oldest value, number or text.",
	Result:  "the value of the oldest event",
	Cost:    "20 ns per event",
	Column:  Column{Width: 12, Stacks: true, Values: true},
	Ordered: true,
	New:     func(*Agg, *Workspace) State { return &first{} },
	Kernel:  &KernelState{Oldest: true},
}

type first struct {
	value event.Value
	seen  bool
	at    event.Time // from the kernel's partials: the time of the value
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

// distinctLimit bounds the number of different values in one cell of Distinct
// or Top.
const distinctLimit = 1 << 16

// Distinct counts the different values, up to a bound.
var Distinct = &Op{
	Name:    "distinct",
	Summary: "Counts the different values of a number or text.",
	Result:  "a number of values; at most 65536 are distinguished",
	Cost:    "30 ns per event",
	Column:  Column{Width: 8, Plain: true},
	New:     func(_ *Agg, w *Workspace) State { return &distinct{work: w} },
}

type distinct struct {
	work *Workspace
	set  map[string]struct{} // values as key.AppendValue packs them
}

func (d *distinct) Add(n event.Number) { d.AddValue(n.Value()) }

func (d *distinct) AddValue(v event.Value) {
	d.work.pack = key.AppendValue(d.work.pack[:0], v)
	if _, there := d.set[string(d.work.pack)]; !there {
		d.insert(string(d.work.pack))
	}
}

func (d *distinct) insert(packed string) {
	if len(d.set) >= distinctLimit {
		d.work.evicted++
		return
	}
	if d.set == nil {
		d.set = make(map[string]struct{})
	}
	d.set[packed] = struct{}{}
}

func (d *distinct) Merge(o State) {
	for packed := range o.(*distinct).set {
		if _, there := d.set[packed]; !there {
			d.insert(packed)
		}
	}
}

func (d *distinct) Cell() event.Value { return event.IntOf(int64(len(d.set))) }

// Reset frees a set that stayed empty since the last Reset.
func (d *distinct) Reset() {
	if len(d.set) == 0 {
		d.set = nil
	}
	clear(d.set)
}

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

// Reset does not overwrite the values, which a row handed out still refers to.
func (l *list) Reset() { l.values = nil }
