package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"ppscript/bpf/assembler"
	"ppscript/bpf/load"
	"ppscript/bpf/state"
)

// common adds the maps that the events' programs use.
func (im *Image) common() {
	s := im.layout
	h := im.host
	im.Tables, im.Events, im.Intervals = s.tables, len(s.sources), s.intervals
	im.Readers = s.readersOf()
	im.StackRoom, _ = s.chain()
	for _, j := range s.joins {
		im.Relates = im.Relates || j.counted()
	}
	if s.intervals {
		im.define(load.GenerationMap.Of(), &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
		})
	}
	im.define(load.WeightMap.Of(), state.WeightMap(byKey(s)))
	if s.weighed {
		state.AlarmMaps(im.define)
	}
	im.nameMaps()
	for i, e := range s.sources {
		if e.served {
			continue
		}
		im.define(load.StatsMap.Of(i), &ebpf.MapSpec{Type: ebpf.PerCPUArray,
			KeySize: 4, ValueSize: uint32(8 * load.Stats(len(s.tables), s.readers())), MaxEntries: 1})
	}
	for i, e := range s.sources {
		if e.Probe != nil && e.Probe.User && h.Preempted && !e.served {
			im.define(load.BusyMap.Of(i), &ebpf.MapSpec{
				Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1,
			})
		}
	}
	im.stackMaps()
	im.foldMaps()
	for _, t := range s.tables {
		im.define(load.ZeroMap.Of(t.Index), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4,
			ValueSize: uint32(t.Value.Size), MaxEntries: 1})
	}
	state.UnitMaps(h, im.Units, im.define)
	s.postponed(func(_ int, f *feed) {
		im.define(load.CallTextMap.Of(f.late.join.Index), state.CallTextsMap(f.late.size()))
	})
	for _, j := range s.joins {
		if len(j.Texts) > 0 {
			im.define(load.CallTextMap.Of(j.Index), state.CallTextsMap(state.CallTextsSize(j.Texts.Most())))
		}
		if s.wakes(j) {
			im.define(load.RunningMap.Of(j.Index), &ebpf.MapSpec{
				Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: maxCPUs,
			})
		}
		if j.tasks && !j.spec.Nested {
			im.define(load.WaitMap.Of(j.Index), state.TaskMap(j.Waits.Size()))
			continue
		}
		// Pairs come and go: memory that is set aside serves faster.
		limit := j.spec.Limit
		if limit == 0 {
			limit = state.MostStarts
		}
		waiting := &ebpf.MapSpec{Type: ebpf.Hash, KeySize: uint32(j.KeyRoom),
			ValueSize: uint32(j.Waits.Size()), MaxEntries: uint32(min(limit, state.MostWaiting))}
		if j.spec.Nested {
			waiting.KeySize += 8 // the depth
			depths := &ebpf.MapSpec{Type: ebpf.Hash, KeySize: uint32(j.KeyRoom), ValueSize: 8,
				MaxEntries: waiting.MaxEntries}
			if j.tasks {
				depths = state.TaskMap(8)
			}
			(&state.CallStacks{Join: j.Index, Shared: j.shared}).Maps(depths, im.define)
		}
		if !j.spec.Nested {
			most := int(waiting.MaxEntries)
			waiting.MaxEntries = uint32(load.WaitingRoom(most))
			im.Waits = append(im.Waits, load.Wait{Map: load.WaitMap.Of(j.Index), Join: j.Index, Most: most,
				Keep: len(j.unpaired) > 0})
		}
		im.define(load.WaitMap.Of(j.Index), waiting)
	}
}

// readers is the largest number of readers of an event.
func (s *layout) readers() (most int) {
	for _, e := range s.sources {
		most = max(most, len(e.feeds))
	}
	return most
}

// readersOf lists the readers of each event.
func (s *layout) readersOf() [][]load.Reader {
	list := make([][]load.Reader, len(s.sources))
	for i, e := range s.sources {
		for k := range e.feeds {
			f := &e.feeds[k]
			r := load.Reader{Late: f.late != nil, Sent: f.emit != nil}
			if f.stat == 0 {
				r.Table = f.table
			}
			list[i] = append(list[i], r)
		}
	}
	return list
}

// counted reports that programs count pairs of the join, rather than send them.
func (j *joinOp) counted() bool {
	return slices.ContainsFunc(j.pairs, func(p pair) bool {
		return slices.ContainsFunc(p.feeds, func(f feed) bool { return f.emit == nil })
	})
}

// maxCPUs bounds the CPU numbers for which the running thread is known.
const maxCPUs = 1 << 13

// wakes reports that an operator needs to know which thread runs on which CPU.
func (s *layout) wakes(j *joinOp) bool {
	for _, e := range s.sources {
		for i := range e.feeds {
			if f := &e.feeds[i]; f.join == j && (f.wakes != nil || f.next != nil) {
				return true
			}
		}
	}
	return false
}

// define gives the image a map.
func (im *Image) define(id load.MapID, spec *ebpf.MapSpec) {
	im.Maps = append(im.Maps, load.Map{ID: id, Spec: spec})
}

// scratch defines the map of a program's scratch memory. Programs of one event may share it;
// it is as large as the largest needs.
func (im *Image) scratch(c *code) {
	spec := c.ScratchMap()
	if spec == nil {
		return
	}
	at := slices.IndexFunc(im.Maps, func(m load.Map) bool { return m.ID == c.Scratch })
	if at < 0 {
		im.define(c.Scratch, spec)
		return
	}
	have := im.Maps[at].Spec
	have.ValueSize = max(have.ValueSize, spec.ValueSize)
}

// referred defines the maps that programs refer to wherever some code of theirs needs one: that which
// distance asks, and tables. Call it when all programs are there.
func (im *Image) referred() {
	var all []asm.Instructions
	for i := range im.Programs {
		all = append(all, im.Programs[i].Ins)
		if d := im.Programs[i].Direct; d != nil {
			all = append(all, d.Ins)
		}
	}
	place := load.PlaceMap.Of()
	if slices.ContainsFunc(all, func(ins asm.Instructions) bool {
		return slices.ContainsFunc(ins, func(i asm.Instruction) bool {
			return i.Reference() == place.String()
		})
	}) {
		im.define(place, &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	}
	for id, spec := range assembler.Tables(all...) {
		im.define(id, spec)
	}
}
