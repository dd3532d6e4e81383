package state

import (
	"github.com/cilium/ebpf"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
)

// spareRows is the number of rows for which memory is reserved beside a map
// that grows.
const spareRows = 64

// NewUnit names the maps of a table for so many generations.
func NewUnit(h *features.Host, t *load.Table, program, generations int) *load.Unit {
	u := &load.Unit{Table: t, Program: program}
	for n := range generations {
		u.Rows = append(u.Rows, load.RowsMap.Of(program, t.Index, n))
		if len(t.Cols) > 0 {
			u.Other = append(u.Other, load.OtherMap.Of(program, t.Index, n))
		}
		if h.Grows {
			u.Spare = append(u.Spare, load.SpareMap.Of(program, t.Index, n))
		}
		if t.Value.Slots {
			u.Slots = append(u.Slots, load.SlotsMap.Of(program, t.Index, n))
		}
		if t.Value.Sketch {
			u.Sketch = append(u.Sketch, load.SketchMap.Of(program, t.Index, n))
		}
	}
	return u
}

// UnitMaps defines the maps of units.
func UnitMaps(h *features.Host, units []*load.Unit, define func(load.MapID, *ebpf.MapSpec)) {
	for _, u := range units {
		for n := range u.Rows {
			define(u.Rows[n], Grow(h, &ebpf.MapSpec{Type: ebpf.PerCPUHash,
				KeySize: uint32(u.Table.KeyLen), ValueSize: uint32(u.Table.Value.Size)},
				u.Table.Spec.Limit, MostRows))
		}
		for _, name := range u.Spare {
			limit := min(spareRows, u.Table.Spec.Limit)
			if limit == 0 {
				limit = spareRows
			}
			define(name, &ebpf.MapSpec{Type: ebpf.PerCPUHash, KeySize: uint32(u.Table.KeyLen),
				ValueSize: uint32(u.Table.Value.Size), MaxEntries: uint32(limit)})
		}
		for _, name := range u.Other {
			define(name, &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
				ValueSize: uint32(u.Table.Value.Size), MaxEntries: 1})
		}
		for _, name := range u.Slots {
			define(name, &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
				ValueSize: uint32(u.Table.Value.Size + u.Table.KeyLen), MaxEntries: RowSlots})
		}
		for _, name := range u.Sketch {
			define(name, Grow(h, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 16, ValueSize: 8}, 0, mostBuckets))
		}
	}
}
