package perf

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file reads the common case: samples that all have the same layout, with
// raw data at a fixed offset, and that do not wrap. It decodes like Decode, but
// keeps all invariants out of the loop, which halves the time for an event
// (BenchmarkRingRead). It leaves all other records, rare or corrupt, to Decode.

// burst reads samples from pos up to end into dst, and stops at the first
// record that is not the common case. It returns the number of samples and the
// position after them.
//
// Fast path: this loop runs for every sample.
func (r *ring) burst(dst []event.Event, pos, end uint64) (int, uint64) {
	d := r.dec
	l := d.shared
	base := unsafe.Pointer(unsafe.SliceData(r.data))
	size, begin := uint64(len(r.data)), r.base
	least, fixed := uint64(l.least), l.fixed
	timeAt, tidAt, cpuAt := l.time, l.tid, l.cpu
	timeAnd, tidOr, cpuOr := l.timeAnd, l.tidOr, l.cpuOr
	idAt, table := d.idOff, d.table
	ent := &d.only
	n := 0
	for n < len(dst) && pos < end {
		off := (pos - begin) & (size - 1)
		p := unsafe.Add(base, off)
		header := load64(p, 0) // u32 type, u16 misc, u16 size
		length := header >> 48
		if uint32(header) != unix.PERF_RECORD_SAMPLE || length < least || length&7 != 0 ||
			length > end-pos || length > size-off {
			break
		}
		if idAt != 0 {
			id := load64(p, idAt)
			ent = &table[hash(id)&uint64(len(table)-1)]
			if ent.id != id || ent.stream == nil {
				break
			}
		}
		room := uint32(length) - uint32(fixed)
		var raw []byte
		if l.raw {
			// least includes the 4 bytes of the size.
			bytes := load32(p, fixed)
			if bytes > room-4 {
				break
			}
			raw = unsafe.Slice((*byte)(unsafe.Add(p, fixed+4)), bytes)
		}
		e := &dst[n]
		e.Time = event.Time(load64(p, timeAt) & timeAnd)
		who := load64(p, tidAt) | tidOr
		e.PID, e.TID = int32(who), int32(who>>32)
		e.CPU = int32(load32(p, cpuAt) | cpuOr)
		if r.cpu >= 0 {
			e.CPU = r.cpu
		}
		e.Ring = r.index
		e.Kind = event.Sample
		e.Stream, e.Raw, e.Rec, e.Derived = ent.stream, raw, unsafe.Slice((*byte)(p), length), nil
		pos += length
		n++
	}
	if n > 0 {
		d.prev = dst[n-1].Time
	}
	return n, pos
}
