package perfdata

import (
	"encoding/binary"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file gives a recording's events as one ring for each CPU, each in time
// order.
//
// perf record copies all kernel rings to the file in passes and writes a
// FINISHED_ROUND after each. Let M(n) be the latest time in the passes up to
// n. When pass n+1 begins, everything up to M(n) has been written to the
// kernel rings, since something stamped M(n) was already read; so pass n+1
// brings the last of it, and pass n+2 brings only what is later than M(n).
// Hence at the end of pass n+1 everything up to M(n) is complete, which is
// perf's own rule (tools/perf/util/ordered-events.c). That all of pass n is
// complete at its own end would be wrong: a ring that was read early in the
// pass may have got older records than one that was read late.
//
// The rings show only complete rounds, so known and visible are equal: shown
// records are never reordered, even where a file's rings were not per CPU
// (perf record --per-thread) and have to be sorted to be.
//
// Records are indexed by 8 bytes each, not copied. A recording without rounds
// is indexed as a whole. Input that does not stay in memory (pipe, compressed)
// is held back up to MaxPending bytes; then the older half is shown, as perf
// does, and later records with older times are late.

// maxRings bounds what damaged CPU numbers can make us allocate; the ring of
// CPU -1 takes the rest.
const maxRings = 8192

// orderedRings is the rings of a File with Options.Ordered.
type orderedRings struct {
	f     *File
	rings []*cpuRing
	byCPU []*cpuRing // index CPU+1
	base  []byte     // entries without a buffer count from here
	bufs  []*buffer  // entries with one: slot<<32 | offset
	free  []int      // unused slots
	shown uint64     // entries shown in all rings
	early uint64     // of them, because the bound on memory was hit

	latest, complete event.Time // M(n), M(n-1)
	probe            event.Event
}

func newOrdered(f *File) *orderedRings {
	o := &orderedRings{f: f}
	if m, ok := f.in.(*mappedInput); ok {
		o.base = m.memory()
	}
	return o
}

// heapEntry marks entries in buffers.
const heapEntry = 1 << 63

// add indexes the records of a run.
//
// Fast path: one decode and one append for each record.
func (o *orderedRings) add(u run) {
	var entry uint64
	if u.buf == nil {
		entry = uint64(offsetIn(o.base, u.b))
	} else {
		if u.buf.slot < 0 {
			o.giveSlot(u.buf)
		}
		entry = heapEntry | uint64(u.buf.slot)<<32 | uint64(offsetIn(u.buf.b, u.b))
	}
	e := &o.probe
	for b := u.b; len(b) > 0; {
		size := int(le.Uint16(b[6:]))
		rec := b[:size:size]
		b = b[size:]
		if !o.f.dec.Decode(rec, e) {
			o.f.loss.Truncated++
		} else {
			o.index(entry, e)
			if u.buf != nil {
				u.buf.refs++
			}
		}
		entry += uint64(size)
	}
	if u.buf != nil && o.f.pool.live > o.f.opt.MaxPending {
		o.flushHalf()
	}
}

// index appends an entry to the ring of its CPU.
func (o *orderedRings) index(entry uint64, e *event.Event) {
	cpu := e.CPU
	if cpu < 0 {
		cpu = o.f.cpuOf(e)
	}
	var r *cpuRing
	if i := int(cpu) + 1; i >= 0 && i < len(o.byCPU) {
		r = o.byCPU[i]
	}
	if r == nil {
		r = o.ringOf(cpu)
	}
	t := e.Time
	if e.Kind != event.Sample {
		t = o.sideTime(e.Rec)
	}
	if !timed(t) {
		// Records that perf made itself, from /proc or of BPF programs, have
		// no time: they go before the pending ones.
		t = r.tail
		r.mixed = r.mixed || t != 0
	}
	if t < r.tail {
		r.mixed = true
	} else {
		r.tail = t
	}
	if t > o.latest && timed(t) {
		o.latest = t
	}
	r.entries = append(r.entries, entry)
}

// timed reports that t was stamped by the kernel.
func timed(t event.Time) bool { return t != 0 && t != -1 }

// ringOf makes the ring of a CPU that was not seen before.
func (o *orderedRings) ringOf(cpu int32) *cpuRing {
	if cpu < -1 || cpu >= maxRings-1 {
		cpu = -1
	}
	i := int(cpu) + 1
	for len(o.byCPU) <= i {
		o.byCPU = append(o.byCPU, nil)
	}
	if o.byCPU[i] == nil {
		r := &cpuRing{o: o, cpu: cpu, number: int32(len(o.rings))}
		o.byCPU[i] = r
		o.rings = append(o.rings, r)
		o.f.out.rings = append(o.f.out.rings, r)
	}
	return o.byCPU[i]
}

func (o *orderedRings) giveSlot(b *buffer) {
	if n := len(o.free); n > 0 {
		b.slot = o.free[n-1]
		o.free = o.free[:n-1]
		o.bufs[b.slot] = b
		return
	}
	b.slot = len(o.bufs)
	o.bufs = append(o.bufs, b)
}

// record is the record of an entry.
func (o *orderedRings) record(entry uint64) []byte {
	b := o.base
	if entry&heapEntry != 0 {
		b = o.bufs[entry&^uint64(heapEntry)>>32].b
		entry &= 1<<32 - 1
	}
	b = b[entry:]
	size := binary.LittleEndian.Uint16(b[6:])
	return b[:size:size]
}

// timeOf is the time of an entry, 0 if it has none.
func (o *orderedRings) timeOf(entry uint64) event.Time {
	rec := o.record(entry)
	if le.Uint32(rec) != unix.PERF_RECORD_SAMPLE {
		return o.sideTime(rec)
	}
	if !o.f.dec.Decode(rec, &o.probe) {
		return 0
	}
	return o.probe.Time
}

// sideTime is when a record that is no sample was written, 0 if it does not
// say so. The decoder's time will not do: it is the last one known then.
func (o *orderedRings) sideTime(rec []byte) event.Time {
	id, _ := o.f.common.SampleID(rec)
	if !timed(id.Time) {
		return 0
	}
	return id.Time
}

// round is called at a FINISHED_ROUND.
func (o *orderedRings) round() {
	o.show(o.complete)
	o.complete = o.latest
	m, ok := o.f.in.(*mappedInput)
	if !ok || o.f.copied() {
		return
	}
	// Input that all rings have released is not needed any more. Entries
	// are in order of time, so a later one may lie a little before; it is
	// read again from the page cache then.
	off := m.at
	for _, r := range o.rings {
		if live := r.entries[r.released-r.first:]; len(live) > 0 {
			off = min(off, int(slices.Min(live[:min(len(live), 64)])))
		}
	}
	m.done(off)
}

// finish shows the rest.
func (o *orderedRings) finish() { o.show(event.MaxTime) }

// flushHalf gives up order to stay within memory: it shows the older half of
// the records that are held back.
func (o *orderedRings) flushHalf() {
	defer func(before uint64) { o.early += o.shown - before }(o.shown)
	oldest := event.MaxTime
	for _, r := range o.rings {
		r.sort()
		if p := r.pending(); len(p) > 0 {
			oldest = min(oldest, o.timeOf(p[0]))
		}
	}
	if oldest < o.latest {
		o.show(oldest + (o.latest-oldest)/2)
	} else {
		o.finish()
	}
}

// show moves the bounds of all rings behind the last record up to time t.
func (o *orderedRings) show(t event.Time) {
	for _, r := range o.rings {
		r.sort()
		p := r.pending()
		n := len(p)
		if r.tail > t || t < event.MaxTime && !timed(r.tail) {
			n = sort.Search(len(p), func(i int) bool { return o.timeOf(p[i]) > t })
		}
		r.visible += uint64(n)
		o.shown += uint64(n)
	}
}

func (o *orderedRings) drop() {
	for _, r := range o.rings {
		r.entries = nil
		r.first, r.pos, r.released = r.visible, r.visible, r.visible
	}
	o.bufs, o.base = nil, nil
}

// A cpuRing is the records of one CPU. Positions count records.
type cpuRing struct {
	o        *orderedRings
	cpu      int32 // -1 if unknown
	number   int32
	entries  []uint64   // from position first on
	first    uint64     // position of entries[0]
	released uint64     // before it nothing is referred to
	pos      uint64     // next to read
	visible  uint64     // shown; behind it entries are pending
	tail     event.Time // the latest time appended
	last     event.Time // of the last record read
	mixed    bool       // pending entries are not in time order
}

func (r *cpuRing) pending() []uint64 { return r.entries[r.visible-r.first:] }

// sort brings the pending entries into time order. Records without a time
// come first: they describe what follows.
//
// Slow path: only where rings were not per CPU, or a CPU's clock jumped.
func (r *cpuRing) sort() {
	if !r.mixed {
		return
	}
	slices.SortStableFunc(r.pending(), func(a, b uint64) int {
		x, y := r.o.timeOf(a), r.o.timeOf(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	r.mixed = false
}

// Bounds implements event.Ring.
func (r *cpuRing) Bounds() (known, visible uint64) { return r.visible, r.visible }

// Pos implements event.Ring.
func (r *cpuRing) Pos() uint64 { return r.pos }

// Read implements event.Ring.
func (r *cpuRing) Read(dst []event.Event, until uint64) int {
	until = min(until, r.visible)
	n := 0
	for n < len(dst) && r.pos < until {
		e := &dst[n]
		ok := r.o.f.dec.Decode(r.o.record(r.entries[r.pos-r.first]), e)
		r.pos++
		if !ok {
			continue // counted when it was indexed
		}
		e.Ring = r.number
		if e.CPU < 0 {
			e.CPU = r.cpu
		}
		if e.Kind != event.Sample {
			if r.o.sideTime(e.Rec) == 0 {
				e.Time = r.last
			}
		}
		r.last = e.Time
		n++
	}
	return n
}

// Release implements event.Ring.
func (r *cpuRing) Release() {
	for ; r.released < r.pos; r.released++ {
		entry := r.entries[r.released-r.first]
		if entry&heapEntry == 0 {
			r.released = r.pos
			break
		}
		slot := int(entry &^ uint64(heapEntry) >> 32)
		buf := r.o.bufs[slot]
		if buf.refs == 1 {
			r.o.bufs[slot] = nil
			r.o.free = append(r.o.free, slot)
		}
		r.o.f.pool.unref(buf)
	}
	// Forget released entries once they are half of the index.
	if gone := r.released - r.first; gone > 1024 && gone*2 > uint64(len(r.entries)) {
		r.entries = r.entries[:copy(r.entries, r.entries[gone:])]
		r.first = r.released
	}
}
