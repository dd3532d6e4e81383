package bpf

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"ppscript/bpf/bucket"
	"ppscript/bpf/callstack"
	"ppscript/bpf/load"
)

// The default bounds on elements of maps. Where the kernel must set memory
// aside for all of a hash's elements in advance, there is room for fewer.
const (
	defaultRows    = 1 << 17
	defaultWaiting = 1 << 16
	defaultBuckets = 1 << 17
	reservedMost   = 1 << 13
	mostWaiting    = 1 << 20
)

// spareRows is how many rows memory is set aside for beside a map that grows.
const spareRows = 64

const noPrealloc = 1 // BPF_F_NO_PREALLOC

// grows sets a hash's bound; one that is large takes memory as it fills.
// Programs may only do that from 6.1 on: before, the allocator could be the
// very thing that is being traced.
func grows(h *Host, m *ebpf.MapSpec, limit, deflt int) *ebpf.MapSpec {
	if limit == 0 {
		limit = deflt
		if !h.Grows {
			limit = min(limit, reservedMost)
		}
	}
	m.MaxEntries = uint32(min(limit, 1<<22))
	if h.Grows {
		m.Flags |= noPrealloc
	}
	return m
}

// common adds the maps that the events' programs use.
func (im *Image) common() {
	s := im.graph
	h := im.host
	im.Tables, im.Events, im.Intervals = s.tables, len(s.sources), s.intervals
	im.StackRoom, _ = s.chain()
	for _, j := range s.joins {
		im.Relates = im.Relates || j.counted()
	}
	if s.intervals {
		im.define(load.GenerationMap.Of(), &ebpf.MapSpec{
			Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1,
		})
	}
	im.nameMaps()
	im.placeMap()
	for i, e := range s.sources {
		if e.served {
			continue
		}
		im.define(load.StatsMap.Of(i), &ebpf.MapSpec{Type: ebpf.PerCPUArray,
			KeySize: 4, ValueSize: uint32(8 * load.Stats(len(s.tables))), MaxEntries: 1})
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
	im.aroundMaps()
	for _, t := range s.tables {
		im.define(load.ZeroMap.Of(t.Index), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4,
			ValueSize: uint32(t.Value.Size), MaxEntries: 1})
	}
	for _, u := range im.Units {
		for n := range u.Rows {
			im.define(u.Rows[n], grows(h, &ebpf.MapSpec{Type: ebpf.PerCPUHash,
				KeySize: uint32(u.Table.KeyLen), ValueSize: uint32(u.Table.Value.Size)},
				u.Table.Spec.Limit, defaultRows))
		}
		for _, name := range u.Spare {
			limit := min(spareRows, u.Table.Spec.Limit)
			if limit == 0 {
				limit = spareRows
			}
			im.define(name, &ebpf.MapSpec{Type: ebpf.PerCPUHash, KeySize: uint32(u.Table.KeyLen),
				ValueSize: uint32(u.Table.Value.Size), MaxEntries: uint32(limit)})
		}
		for _, name := range u.Slots {
			im.define(name, &ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4,
				ValueSize: uint32(u.Table.Value.Size + u.Table.KeyLen), MaxEntries: bucket.Slots})
		}
		for _, name := range u.Sketch {
			im.define(name, grows(h, &ebpf.MapSpec{Type: ebpf.Hash, KeySize: 16, ValueSize: 8},
				0, defaultBuckets))
		}
	}
	for _, j := range s.joins {
		if s.wakes(j) {
			im.define(load.RunningMap.Of(j.index), &ebpf.MapSpec{
				Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: maxCPUs,
			})
		}
		if j.tasks && !j.spec.Nested {
			im.define(load.WaitMap.Of(j.index), taskMap(j.size))
			continue
		}
		// Pairs come and go: memory that is set aside serves faster.
		limit := j.spec.Limit
		if limit == 0 {
			limit = defaultWaiting
		}
		waiting := &ebpf.MapSpec{Type: ebpf.Hash, KeySize: uint32(j.keyRoom),
			ValueSize: uint32(j.size), MaxEntries: uint32(min(limit, mostWaiting))}
		if j.spec.Nested {
			waiting.KeySize += 8 // the depth
			depths := &ebpf.MapSpec{Type: ebpf.Hash, KeySize: uint32(j.keyRoom), ValueSize: 8,
				MaxEntries: waiting.MaxEntries}
			if j.tasks {
				depths = taskMap(8)
			}
			(&callstack.Stacks{Join: j.index}).Maps(depths, im.define)
		}
		if !j.spec.Nested {
			most := int(waiting.MaxEntries)
			waiting.MaxEntries = uint32(load.WaitingRoom(most))
			im.Waits = append(im.Waits, load.Wait{Map: load.WaitMap.Of(j.index), Join: j.index, Most: most,
				Keep: len(j.lefts) > 0})
		}
		im.define(load.WaitMap.Of(j.index), waiting)
	}
}

// counted reports that programs count pairs of the join, rather than send them.
func (j *joinOp) counted() bool {
	return slices.ContainsFunc(j.pairs, func(p pair) bool {
		return slices.ContainsFunc(p.feeds, func(f feed) bool { return f.emit == nil })
	})
}

// taskMap keeps size bytes with each task.
func taskMap(size int) *ebpf.MapSpec {
	word := &btf.Int{Name: "unsigned long long", Size: 8}
	return &ebpf.MapSpec{Type: ebpf.TaskStorage, KeySize: 4, ValueSize: uint32(size), Flags: noPrealloc,
		Key:   &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed},
		Value: &btf.Array{Index: word, Type: word, Nelems: uint32(size / 8)}}
}

// maxCPUs bounds the CPU numbers for which it is known who runs there.
const maxCPUs = 1 << 13

// wakes reports that somebody asks who runs where.
func (s *graph) wakes(j *joinOp) bool {
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
