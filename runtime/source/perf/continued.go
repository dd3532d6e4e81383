package perf

import (
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file continues the ring of a CPU that was offline. The kernel detaches the
// CPU's events then, so they are opened anew when the CPU is back, with a new
// buffer. To the reader it is the same ring: positions go on, and between the
// records of the old buffer and those of the new one is a mark, which is read as
// a loss: nothing is known of the CPU from its return until the events were open
// again, the moment that the loss has as its time. It begins when the CPU was last
// looked at. Operators that relate events discard all state that spans a loss of a
// ring, so the new buffer must not look like a ring of its own.
//
// The old buffer stays until its records were read and released.

// A mark is a LOST record that no buffer holds, in front of the records of a new
// buffer. It takes markSize bytes of the ring's positions.
type mark struct {
	at   uint64   // its position
	to   *mapping // where the ring goes on; nil if in the same memory
	loss loss
}

// A loss is what the LOST record of a mark tells.
type loss struct {
	id, count uint64
	// since is when the CPU was looked at before it came, until when the events were open
	// again; 0 is not known, and the mark has the time of the record behind it.
	since, until event.Time
}

const markSize = 24

// A mapping is a buffer that has not become the ring's memory yet.
type mapping struct {
	mem   []byte
	page  *unix.PerfEventMmapPage
	data  []byte
	begin uint64 // the position of its first record
}

func (m *mapping) head() uint64 { return m.begin + atomic.LoadUint64(&m.page.Data_head) }

// continueIn has the ring go on in the buffer of other, after a loss.
func (r *ring) continueIn(other *ring, l loss) error {
	to := &mapping{mem: other.mem, page: other.page, data: other.data}
	if r.backward {
		// The newest records count: those of before the loss are given up.
		err := unix.Munmap(r.mem)
		r.mem, r.page, r.data = to.mem, to.page, to.data
		r.carried += l.count
		return err
	}
	m := mark{to: to, loss: l}
	if r.spool != nil {
		m.at = r.spool.follow(to)
		m.to = nil
	} else {
		m.at = r.head()
	}
	to.begin = m.at + markSize
	r.marks = append(r.marks, m)
	return nil
}

// beginWithLoss has a ring that was made after the others begin with a loss.
func (r *ring) beginWithLoss(l loss) {
	if r.backward {
		r.carried += l.count
		return
	}
	r.begin, r.base = markSize, markSize
	r.marks = append(r.marks, mark{loss: l})
}

// last is the buffer that the kernel writes to, if that is not the ring's memory
// yet.
func (r *ring) last() *mapping {
	if n := len(r.marks); n > 0 {
		return r.marks[n-1].to
	}
	return nil
}

// whole is head, or the position before a mark that is the last thing there: one whose
// time is not known is shown with the record behind it.
func (r *ring) whole(head uint64) uint64 {
	n := len(r.marks)
	if n == 0 || r.ended {
		return head
	}
	if m := &r.marks[n-1]; m.loss.until == 0 && head == m.at+markSize {
		return m.at
	}
	return head
}

// span is the memory that holds the record at pos, and the position where the
// records in it end: pos itself if there is a mark.
func (r *ring) span(pos, end uint64) (data []byte, base, until uint64) {
	data, base = r.data, r.base
	for i := range r.marks {
		m := &r.marks[i]
		if pos <= m.at {
			return data, base, min(end, m.at)
		}
		if m.to != nil {
			data, base = m.to.data, m.to.begin
		}
	}
	return data, base, end
}

// readOver is Read where there are marks.
//
// Slow path: CPUs come back rarely.
func (r *ring) readOver(dst []event.Event, until uint64) int {
	until = min(until, r.visible)
	n := 0
	for n < len(dst) && r.pos < until && len(r.marks) > 0 {
		m := r.marks[0]
		if r.pos < m.at {
			n += r.read(dst[n:], min(until, m.at), min(r.end(), m.at))
			if r.pos < m.at {
				return n
			}
			continue
		}
		r.readMark(&dst[n], m)
		n++
	}
	if n < len(dst) && len(r.marks) == 0 {
		n += r.read(dst[n:], until, r.end())
	}
	return n
}

// readMark makes the event of a mark, and turns to the memory behind it.
func (r *ring) readMark(e *event.Event, m mark) {
	if m.to != nil {
		r.retired = append(r.retired, r.mem)
		r.mem, r.page, r.data, r.base, r.begin = m.to.mem, m.to.page, m.to.data, m.to.begin, m.to.begin
		r.scratch = nil // it may have a view
	}
	r.marks = r.marks[1:]
	r.pos = m.at + markSize
	count := m.loss.count
	*e = event.Event{Kind: r.dec.lostKind(), Time: r.timeOf(m.loss), Rec: lostRecord(m.loss.id, count),
		PID: -1, TID: -1, CPU: r.cpu, Ring: r.index, Derived: event.Between(m.loss.since, m.loss.until),
		Count: uint32(min(count, math.MaxUint32))}
	// No event of the new buffer counts these.
	r.stat.Lost += count
	r.stat.Records++
	r.stat.Bytes += markSize
}

// timeOf is the time of a mark in front of pos. The first events may have come while the
// others were not open yet: times must not go back.
func (r *ring) timeOf(l loss) event.Time {
	behind := r.timeAt(r.pos)
	switch {
	case l.until == 0 && behind == 0:
		return r.dec.prev
	case l.until == 0 || behind != 0 && behind < l.until:
		return behind
	}
	return max(l.until, r.dec.prev)
}

// timeAt is the time of the record at a position; 0 if there is none.
func (r *ring) timeAt(pos uint64) event.Time {
	end := r.end()
	if pos+headerSize > end {
		return 0
	}
	off, size := r.at(pos), recordSize(r.data, r.at(pos))
	if size < headerSize || size > end-pos {
		return 0
	}
	rec := r.data[off:min(off+size, uint64(len(r.data)))]
	if uint64(len(rec)) < size {
		rec = r.unwrap(off, size)
	}
	var e event.Event
	if !r.dec.Decode(rec, &e) {
		return 0
	}
	return e.Time
}

// lostRecord is a LOST record without a sample id.
func lostRecord(id, count uint64) []byte {
	b := make([]byte, markSize)
	binary.LittleEndian.PutUint32(b, unix.PERF_RECORD_LOST)
	binary.LittleEndian.PutUint16(b[6:], markSize)
	binary.LittleEndian.PutUint64(b[8:], id)
	binary.LittleEndian.PutUint64(b[16:], count)
	return b
}

// retire gives back the buffers whose records were read: their views are dead.
func (r *ring) retire() {
	for _, mem := range r.retired {
		unix.Munmap(mem)
	}
	r.retired = nil
}

// unmapOthers gives back all buffers but the ring's memory.
func (r *ring) unmapOthers() error {
	var errs []error
	for _, mem := range r.retired {
		errs = append(errs, unix.Munmap(mem))
	}
	for _, m := range r.marks {
		if m.to != nil {
			errs = append(errs, unix.Munmap(m.to.mem))
		}
	}
	r.retired, r.marks = nil, nil
	return errors.Join(errs...)
}
