package perf

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// This file reads backward rings. The kernel writes them from high addresses
// to low ones, each record in front of the one before, without asking whether
// the space is free. So the newest record is at head, and walking up from
// there meets ever older ones until the walk comes to where the writing began,
// or to a record whose end is overwritten.
//
// That can be done only while nothing writes: after Stop. The records are
// copied, oldest first, so that the ring reads like any other; the copy is no
// larger than the ring.

// freeze turns the ring into one that holds its records in order.
func (r *ring) freeze() {
	head := r.head()
	size := uint64(len(r.data))
	written := min(-head, size) // head counts down from 0
	var at []uint64
	for off := uint64(0); written-off >= headerSize; {
		n := r.lengthAt(head + off)
		if n < headerSize || n > written-off {
			break
		}
		at = append(at, off)
		off += n
	}
	data := make([]byte, size)
	top := uint64(0)
	for i := len(at) - 1; i >= 0; i-- {
		n := r.lengthAt(head + at[i])
		from := (head + at[i]) & (size - 1)
		k := copy(data[top:top+n], r.data[from:])
		copy(data[top+uint64(k):top+n], r.data)
		top += n
	}
	// The mapping is read-only; the page of the copy takes the tail.
	r.data, r.page = data, &unix.PerfEventMmapPage{Data_head: top}
	r.pos, r.frozen = 0, true
}

// lengthAt is the size in the header at a position; headers never wrap.
func (r *ring) lengthAt(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(r.data[pos&uint64(len(r.data)-1)+6:]))
}
