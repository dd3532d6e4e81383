package perf

import (
	"encoding/binary"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file reads backward rings. The kernel writes them from high addresses to
// low ones, each record before the previous one, and overwrites old records. So
// the newest record is at head, and the older ones follow it, up to the first
// record of all, or to a record whose end was overwritten.
//
// A backward ring can be read only while the kernel does not write: after Stop,
// or while the ring is paused. The records are copied, oldest first, so that
// the ring can be read like any other. The copy is not larger than the ring.

// Snapshot calls fn while the rings have copies of their newest records, as after
// Stop. wrapped says for each of Rings whether older records were overwritten. The
// events continue. Records that come while a ring is copied are lost; the next
// record of the ring reports the loss.
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

// pause calls fn while the kernel does not write to a ring. It first waits for
// writers that have begun, which cannot be interrupted for long.
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

// freeze replaces the ring's memory by a copy with the records in order.
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
	// The mapping is read-only, so the tail is written to a page of the copy.
	r.data, r.page = data, &unix.PerfEventMmapPage{Data_head: top}
	r.pos, r.frozen, r.wrapped = 0, true, -head > size
}

// lengthAt returns the size in the header at a position; headers never wrap.
func (r *ring) lengthAt(pos uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(r.data[pos&uint64(len(r.data)-1)+6:]))
}
