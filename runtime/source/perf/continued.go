package perf

import (
	"encoding/binary"
	"errors"
	"math"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file continues the ring of a CPU that was offline. When a CPU goes offline,
// the kernel detaches its events. When it is back, they are opened again, with a
// new buffer. For the reader it is the same ring with continuous positions.
// Between the records of the old and the new buffer is a mark, which is read as a
// loss, since no events were recorded from the CPU's return until the events were
// open again. The loss begins when the CPUs were last checked, and its time is the
// moment when the events were open again. Operators that relate events discard all
// state that spans a loss in a ring; therefore the new buffer must not look like a
// separate ring.
//
// The old buffer stays mapped until its records were read and released.

// A mark is a LOST record before the records of a new buffer. It is in no
// buffer, but takes markSize bytes of the ring's positions.
type mark struct {
	at   uint64   // its position
	to   *mapping // the next buffer; nil if the ring's memory stays the same
	loss loss
}

// A loss is the content of a mark's LOST record.
type loss struct {
	id, count uint64
	// since is the last check of the CPUs before the CPU came; until is when the events
	// were open again. If until is 0, it is unknown, and the mark gets the time of the
	// next record.
	since, until event.Time
}

const markSize = 24

// A mapping is a buffer that will be the ring's memory after a mark.
type mapping struct {
	mem   []byte
	page  *unix.PerfEventMmapPage
	data  []byte
	begin uint64 // the position of its first record
}

func (m *mapping) head() uint64 { return m.begin + atomic.LoadUint64(&m.page.Data_head) }

// continueIn makes the ring continue in the buffer of other, after a loss.
func (r *ring) continueIn(other *ring, l loss) error {
	to := &mapping{mem: other.mem, page: other.page, data: other.data}
	if r.backward {
		// Only the newest records are kept: the records before the loss are
		// dropped.
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

// beginWithLoss makes a ring that was made after the others begin with a loss.
func (r *ring) beginWithLoss(l loss) {
	if r.backward {
		r.carried += l.count
		return
	}
	r.begin, r.base = markSize, markSize
	r.marks = append(r.marks, mark{loss: l})
}

// last returns the buffer to which the kernel writes; nil if it is the ring's
// memory.
func (r *ring) last() *mapping {
	if n := len(r.marks); n > 0 {
		return r.marks[n-1].to
	}
	return nil
}

// whole returns head, or, if the last item before head is a mark of unknown time, the
// position before the mark: it is shown only together with the next record, whose time
// it gets.
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

// span returns the memory with the record at pos, and the position at which its
// records end: pos itself if there is a mark.
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

// readOver is Read for a ring with marks.
//
// Slow path: CPUs rarely come back.
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

// readMark makes the event of a mark, and switches the ring to the memory after
// it.
func (r *ring) readMark(e *event.Event, m mark) {
	if m.to != nil {
		r.retired = append(r.retired, r.mem)
		r.mem, r.page, r.data, r.base, r.begin = m.to.mem, m.to.page, m.to.data, m.to.begin, m.to.begin
		r.scratch = nil // an event may be a view of it
	}
	r.marks = r.marks[1:]
	r.pos = m.at + markSize
	count := m.loss.count
	*e = event.Event{Kind: r.dec.lostKind(), Time: r.timeOf(m.loss), Rec: lostRecord(m.loss.id, count),
		PID: -1, TID: -1, CPU: r.cpu, Ring: r.index, Derived: event.Between(m.loss.since, m.loss.until),
		Count: uint32(min(count, math.MaxUint32))}
	// The counters of the new events do not include these.
	r.stat.Lost += count
	r.stat.Records++
	r.stat.Bytes += markSize
}

// timeOf returns the time of a mark before pos. Records may have come before all events
// were open, so the time is limited to keep the ring's times ascending.
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

// timeAt returns the time of the record at a position; 0 if there is none.
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

// lostRecord makes a LOST record without a sample id.
func lostRecord(id, count uint64) []byte {
	b := make([]byte, markSize)
	binary.LittleEndian.PutUint32(b, unix.PERF_RECORD_LOST)
	binary.LittleEndian.PutUint16(b[6:], markSize)
	binary.LittleEndian.PutUint64(b[8:], id)
	binary.LittleEndian.PutUint64(b[16:], count)
	return b
}

// retire unmaps the buffers whose records were read and released.
func (r *ring) retire() {
	for _, mem := range r.retired {
		unix.Munmap(mem)
	}
	r.retired = nil
}

// unmapOthers unmaps all buffers except the ring's memory.
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
