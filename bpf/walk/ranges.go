package walk

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"
	"unsafe"

	"github.com/cilium/ebpf"

	"ppscript/bpf/load"
)

// This file keeps the ranges of processes in an array. When the ranges of a process change,
// they are written to another part of the array, and the process then refers to that part. A
// program that walks meanwhile reads the old part, which stays for restTime.

// ranges allocates parts of the array.
type ranges struct {
	memory  *ebpf.Memory
	used    uint32 // end of the part that was ever taken
	free    []extent
	retired []extent
}

// extent is a part of the array that was given back.
type extent struct {
	at, n uint32
	when  time.Time
}

// restTime is the time before a part is used again: longer than any walk takes.
const restTime = time.Second

// take finds room for n ranges.
func (r *ranges) take(n uint32) (at uint32, ok bool) {
	if n == 0 {
		return 0, true
	}
	for len(r.retired) > 0 && time.Since(r.retired[0].when) > restTime {
		r.put(r.retired[0])
		r.retired = r.retired[1:]
	}
	for i := range r.free {
		if f := &r.free[i]; f.n >= n {
			at = f.at
			f.at, f.n = f.at+n, f.n-n
			if f.n == 0 {
				r.free = slices.Delete(r.free, i, i+1)
			}
			return at, true
		}
	}
	if r.used+n > load.MostWalkRanges {
		return 0, false
	}
	at = r.used
	r.used += n
	return at, true
}

// give gives ranges back.
func (r *ranges) give(at, n uint32) {
	if n > 0 {
		r.retired = append(r.retired, extent{at, n, time.Now()})
	}
}

// put adds a part to the free ones, and joins neighbours.
func (r *ranges) put(e extent) {
	i, _ := slices.BinarySearchFunc(r.free, e, func(x, e extent) int { return cmp.Compare(x.at, e.at) })
	r.free = slices.Insert(r.free, i, e)
	if i+1 < len(r.free) && r.free[i].at+r.free[i].n == r.free[i+1].at {
		r.free[i].n += r.free[i+1].n
		r.free = slices.Delete(r.free, i+1, i+2)
	}
	if i > 0 && r.free[i-1].at+r.free[i-1].n == r.free[i].at {
		r.free[i-1].n += r.free[i].n
		r.free = slices.Delete(r.free, i, i+1)
	}
}

// bytesOf encodes ranges as they lie in the array.
func bytesOf(list []load.WalkRange) []byte {
	b := make([]byte, 0, load.WalkRangeSize*len(list))
	for _, r := range list {
		b = binary.LittleEndian.AppendUint64(b, r.Start)
		b = binary.LittleEndian.AppendUint64(b, r.Len)
		b = binary.LittleEndian.AppendUint64(b, r.Delta)
		b = binary.LittleEndian.AppendUint32(b, r.At)
		b = binary.LittleEndian.AppendUint32(b, r.Blocks)
	}
	return b
}

var _ = [1]struct{}{}[unsafe.Sizeof(load.WalkRange{})-load.WalkRangeSize]

func (r *ranges) write(at uint32, list []load.WalkRange) error {
	if len(list) == 0 {
		return nil
	}
	_, err := r.memory.WriteAt(bytesOf(list), int64(at)*load.WalkRangeSize)
	return err
}

// sumOf is a hash of a list of ranges; never 0.
func sumOf(list []load.WalkRange, exec uint32) uint64 {
	h := fnv.New64a()
	h.Write(bytesOf(list))
	h.Write(binary.LittleEndian.AppendUint32(nil, exec))
	return h.Sum64() | 1
}
