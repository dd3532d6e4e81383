package perf

import (
	"encoding/binary"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file reads backward rings. The kernel writes them from high addresses
// to low ones, each record in front of the one before, without asking whether
// the space is free. So the newest record is at head, and walking up from
// there meets ever older ones until the walk comes to where the writing began,
// or to a record whose end is overwritten.
//
// That can be done only while nothing writes: after Stop, or while the ring is
// paused. The records are copied, oldest first, so that the ring reads like any
// other; the copy is no larger than the ring.

// Snapshot calls fn while the rings hold copies of their newest records, as after
// Stop. wrapped says, for each of Rings, that older records are gone. The events go
// on; a ring loses what comes while it is copied, and says so in its next record.
func (s *Source) Snapshot(fn func(wrapped []bool) error) error {
	var wrapped []bool
	for i, r := range s.open.rings {
		if r == nil {
			continue
		}
		if !r.frozen {
			kernel := r.memory
			if err := s.open.pause(i, r.freeze); err != nil {
				return err
			}
			defer func() {
				r.memory, r.frozen, r.pos, r.known, r.visible = kernel, false, 0, 0, 0
			}()
			r.visible = r.page.Data_head
			r.known = r.visible
		}
		wrapped = append(wrapped, r.wrapped)
	}
	return fn(wrapped)
}

// pause calls fn while nothing is written to a ring. A writer that had begun is
// given the time to end: it cannot be interrupted for long.
func (o *opener) pause(ring int, fn func()) error {
	k := slices.IndexFunc(o.fds, func(f eventFD) bool { return f.ring == ring })
	if err := unix.IoctlSetInt(o.fds[k].fd, unix.PERF_EVENT_IOC_PAUSE_OUTPUT, 1); err != nil {
		return waitError("pause", err)
	}
	for start := time.Now(); time.Since(start) < settle; {
	}
	fn()
	if err := unix.IoctlSetInt(o.fds[k].fd, unix.PERF_EVENT_IOC_PAUSE_OUTPUT, 0); err != nil {
		return waitError("resume", err)
	}
	return nil
}

func waitError(op string, err error) error {
	return &diag.Error{Op: op, Subject: "ring", Cause: err, Class: diag.Run}
}

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
	r.pos, r.frozen, r.wrapped = 0, true, -head > size
}

// lengthAt is the size in the header at a position; headers never wrap.
func (r *ring) lengthAt(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(r.data[pos&uint64(len(r.data)-1)+6:]))
}
