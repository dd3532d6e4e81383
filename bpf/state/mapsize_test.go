package state_test

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/operator/agg"
)

// TestGrow checks that bounds are what was asked for, else the default, of which little is set
// aside where maps cannot grow.
func TestGrow(t *testing.T) {
	const noPrealloc = 1
	f := func(grows bool, limit, deflt int, want uint32) {
		t.Helper()
		m := state.Grow(&features.Host{Grows: grows}, &ebpf.MapSpec{}, limit, deflt)
		if m.MaxEntries != want || m.Flags&noPrealloc != 0 != grows {
			t.Errorf("limit %d, default %d, grows %t: got %d, flags %d, want %d", limit, deflt, grows,
				m.MaxEntries,
				m.Flags, want)
		}
	}
	f(true, 0, state.MostRows, 1<<17)
	f(false, 0, state.MostRows, 1<<13)
	f(false, 0, 100, 100)
	f(false, 1<<15, state.MostRows, 1<<15)
	f(true, 1<<30, state.MostRows, 1<<22)
}

// A table has the maps that it needs: of this kernel, for each generation.
func TestUnits(t *testing.T) {
	f := func(grows bool, table *load.Table, generations int, want map[load.MapID]string) {
		t.Helper()
		host, got := &features.Host{Grows: grows}, map[load.MapID]string{}
		u := state.NewUnit(host, table, 3, generations)
		state.UnitMaps(host, []*load.Unit{u}, func(id load.MapID, m *ebpf.MapSpec) {
			got[id] = fmt.Sprintf("%s %d %d %d", m.Type, m.KeySize, m.ValueSize, m.MaxEntries)
		})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	spec := &agg.Spec{Limit: 40}
	f(false, &load.Table{Spec: spec, Index: 2, KeyLen: 0, Value: load.Value{Size: 32}}, 1,
		map[load.MapID]string{load.RowsMap.Of(3, 2, 0): "PerCPUHash 0 32 40"})
	f(true, &load.Table{Spec: spec, Index: 2, KeyLen: 8, Cols: []load.Column{{Size: 8}},
		Value: load.Value{Size: 32, Slots: true, Sketch: true}}, 2,
		map[load.MapID]string{
			load.RowsMap.Of(3, 2, 0): "PerCPUHash 8 32 40", load.RowsMap.Of(3, 2, 1): "PerCPUHash 8 32 40",
			load.SpareMap.Of(3, 2, 0): "PerCPUHash 8 32 40", load.SpareMap.Of(3, 2, 1): "PerCPUHash 8 32 40",
			load.OtherMap.Of(3, 2, 0): "PerCPUArray 4 32 1", load.OtherMap.Of(3, 2, 1): "PerCPUArray 4 32 1",
			load.SlotsMap.Of(3, 2, 0):  fmt.Sprint("PerCPUArray 4 40 ", state.RowSlots),
			load.SlotsMap.Of(3, 2, 1):  fmt.Sprint("PerCPUArray 4 40 ", state.RowSlots),
			load.SketchMap.Of(3, 2, 0): "Hash 16 8 131072", load.SketchMap.Of(3, 2, 1): "Hash 16 8 131072",
		})
}

// TestWeight checks that until the run begins no event, and no key, stands for anything: the memory
// of maps is zero.
func TestWeight(t *testing.T) {
	for byKey, size := range map[bool]uint32{false: 8, true: load.WeightSize} {
		if m := state.WeightMap(byKey); m.ValueSize != size || m.MaxEntries != 1 || len(m.Contents) != 0 {
			t.Errorf("by key %t: got %d entries of %d bytes with %v, want 1 of %d with nothing", byKey,
				m.MaxEntries, m.ValueSize, m.Contents, size)
		}
	}
}
