package perfdata

import (
	"encoding/binary"
	"slices"
	"sort"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file reads a recording's events as one ring for each CPU, each sorted by
// time.
//
// perf record copies all kernel rings to the file in passes and writes a
// FINISHED_ROUND after each. Let M(n) be the latest time in the passes up to n.
// When pass n+1 begins, all records up to M(n) are in the kernel rings, since a
// record with time M(n) was already read. So pass n+1 copies the last of them,
// and pass n+2 has only records after M(n). Hence at the end of pass n+1 all
// records up to M(n) have been read. perf uses the same rule
// (tools/perf/util/ordered-events.c). It would be wrong to assume that pass n
// is complete at its own end: a ring that was read early in the pass may have
// got records later that are older than records of a ring that was read late.
//
// The rings make only complete rounds visible, so known and visible are equal:
// visible records are never reordered. That also holds if the kernel rings were
// not per CPU (perf record --per-thread), and their records are sorted here.
//
// Records are not copied; each has an index entry of 8 bytes. A recording
// without rounds is indexed as a whole before records become visible. Input in
// buffers (from a pipe, or compressed) waits up to MaxPending bytes. Then the
// older half becomes visible, like in perf, and later records with older times
// are late.

// maxRings bounds the rings, since numbers of CPUs may be damaged; the ring of
// CPU -1 gets the records of all others.
const maxRings = 8192

// orderedRings are the rings of a File with Options.Ordered.
type orderedRings struct {
	f     *File
	rings []*cpuRing
	byCPU []*cpuRing // index CPU+1
	base  []byte     // entries without a buffer are offsets in base
	bufs  []*buffer  // for entries with a buffer, which are slot<<32 | offset
	free  []int      // unused slots
	shown uint64     // visible entries in all rings
	early uint64     // of these, made visible early because of the bound on memory

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
		// Records that perf itself made, from /proc or for BPF programs, have
		// no time: they are placed before the pending ones.
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

// ringOf makes the ring of a new CPU.
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

// record returns the record of an entry.
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

// timeOf returns the time of an entry, 0 if it has none.
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

// sideTime returns the time of a record that is no sample, 0 if it has none.
// The decoder cannot be used here: for records without a time it returns the
// previous time.
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
	// Input that all rings have released is no longer needed. Entries are
	// sorted by time, so a later entry may have a slightly smaller offset; then
	// its page is read again from the page cache.
	off := m.at
	for _, r := range o.rings {
		if live := r.entries[r.released-r.first:]; len(live) > 0 {
			off = min(off, int(slices.Min(live[:min(len(live), 64)])))
		}
	}
	m.done(off)
}

// finish makes the remaining records visible.
func (o *orderedRings) finish() { o.show(event.MaxTime) }

// flushHalf makes the older half of the pending records visible, without
// certain order, to stay within the bound on memory.
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

// show makes all records up to time t visible.
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

// A cpuRing has the records of one CPU. Positions count records.
type cpuRing struct {
	o        *orderedRings
	cpu      int32 // -1 if unknown
	number   int32
	entries  []uint64   // from position first on
	first    uint64     // position of entries[0]
	released uint64     // entries before this position are released
	pos      uint64     // next to read
	visible  uint64     // entries from this position on are pending
	tail     event.Time // the latest time appended
	last     event.Time // of the last record read
	mixed    bool       // pending entries are not in time order
}

func (r *cpuRing) pending() []uint64 { return r.entries[r.visible-r.first:] }

// sort sorts the pending entries by time. Records without a time come first,
// since they describe the state before the others.
//
// Slow path: only if rings were not per CPU, or a CPU's clock jumped.
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
	// Remove released entries when they are half of the index.
	if gone := r.released - r.first; gone > 1024 && gone*2 > uint64(len(r.entries)) {
		r.entries = r.entries[:copy(r.entries, r.entries[gone:])]
		r.first = r.released
	}
}
