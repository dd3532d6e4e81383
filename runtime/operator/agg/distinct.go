package agg

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/key"
)

// distinctLimit bounds how many values one Distinct or Top tells apart.
const distinctLimit = 1 << 16

// Distinct counts the different values, up to a bound.
var Distinct = &Op{
	Name:    "distinct",
	Summary: "Counts the different values of a number or text.",
	Result:  "a number of values; at most 65536 are told apart",
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

// Reset gives the memory of a set that was of no use back.
func (d *distinct) Reset() {
	if len(d.set) == 0 {
		d.set = nil
	}
	clear(d.set)
}
