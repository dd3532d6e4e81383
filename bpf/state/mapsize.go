package state

import (
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"ppscript/bpf/features"
	"ppscript/bpf/load"
)

// This file bounds the maps of programs, and decides how they allocate memory.

// The default bounds on elements of maps. reserved applies where the kernel
// must reserve memory for all elements of a hash in advance.
const (
	MostRows    = 1 << 17
	MostStarts  = 1 << 16
	mostBuckets = 1 << 17
	MostWaiting = 1 << 20

	reserved = 1 << 13
)

const noPrealloc = 1 // BPF_F_NO_PREALLOC

// Grow sets a hash's bound: limit, or deflt if limit is 0. The hash allocates memory as
// it fills, where programs may do so (6.1): on older kernels the traced event could be
// in the allocator itself.
func Grow(h *features.Host, m *ebpf.MapSpec, limit, deflt int) *ebpf.MapSpec {
	if limit == 0 {
		limit = deflt
		if !h.Grows {
			limit = min(limit, reserved)
		}
	}
	m.MaxEntries = uint32(min(limit, 1<<22))
	if h.Grows {
		m.Flags |= noPrealloc
	}
	return m
}

// TaskMap is a map with size bytes for each task.
func TaskMap(size int) *ebpf.MapSpec {
	word := &btf.Int{Name: "unsigned long long", Size: 8}
	return &ebpf.MapSpec{Type: ebpf.TaskStorage, KeySize: 4, ValueSize: uint32(size), Flags: noPrealloc,
		Key:   &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed},
		Value: &btf.Array{Index: word, Type: word, Nelems: uint32(size / 8)}}
}

// AlarmMaps defines the maps of the alarm that assembler.NewGate rings.
func AlarmMaps(define func(load.MapID, *ebpf.MapSpec)) {
	define(load.AlarmMap.Of(), &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	define(load.BellMap.Of(), &ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: uint32(os.Getpagesize())})
}

// WeightMap holds the weight: the number of events, or with byKey of keys, for which each one that
// counts stands. It is 0 until the run begins, then 1 until a budget changes it.
func WeightMap(byKey bool) *ebpf.MapSpec {
	size := 8
	if byKey {
		size = load.WeightSize
	}
	return &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1}
}
