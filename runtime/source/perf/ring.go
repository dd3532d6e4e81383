package perf

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// A ring is one mapped buffer. Positions are the kernel's own: bytes since the
// ring was made.
//
// The kernel writes a record that does not fit before the end in two pieces.
// Mapping the data twice in a row would hide that, but kernels since 6.17
// refuse to split the mapping, so such a record is copied to scratch. There is
// at most one between two releases, since the ring has one end.
type ring struct {
	memory
	bounds
	ringChain
	choice
	newest
	room

	dec   *Decoder
	index int32
	cpu   int32 // -1 if the ring is a thread's
	ended bool  // nothing more will come

	scratch []uint64 // aligned, so that callchains in it are views too

	// lostSeen adds up the LOST records. After Stop, final holds a record
	// for the losses that the kernel had no chance to report.
	lostSeen uint64
	final    []byte
	aside    lostAside

	stat RingStats
}

// A memory is what a ring is mapped to.
type memory struct {
	mem  []byte                  // the whole mapping
	page *unix.PerfEventMmapPage // its first page
	data []byte                  // the rest; len is a power of two
	// spool, if not nil, is where the records are read from: data is its memory.
	spool *spool
	base  uint64 // the position that is at the beginning of data
	begin uint64 // the position of the first record in mem
}

// The bounds of a ring, or of a buffer, are how far it was read, and can be.
type bounds struct {
	pos            uint64 // after the last record read
	known, visible uint64
	first          uint64 // head at the first of the two looks
}

// ringChain holds the buffers that continue the ring of a CPU that was offline, see continued.go.
type ringChain struct {
	marks   []mark
	retired [][]byte // mappings that were read, and may have views
	carried uint64   // lost records that are told for good
}

// A choice is whose samples are wanted; all are if it is empty.
type choice struct {
	from   uint64  // where the run begins: samples before it came while other events did not count yet
	to     uint64  // where it ends, 0 before: samples behind it came while others counted no longer
	only   []int32 // processes
	family *family
	looked uint64 // after the last record that family learned from
}

// A newest is a ring that keeps the newest records.
type newest struct {
	backward bool
	frozen   bool // its writer has stopped: it can be read
	wrapped  bool // then: its first records are gone
}

// A room is how near the kernel was to having none left.
type room struct {
	// suspect is the position behind which records may have been lost: that of
	// the head when there was hardly any room left. tight says that it is the
	// end of the visible part.
	suspect uint64
	tight   bool
	tail    uint64 // the released part ends here
}

// RingStats is the traffic of one ring.
type RingStats struct {
	CPU       int    `json:"cpu"` // -1 if the ring is a thread's
	TID       int    `json:"tid"` // -1 if it is a CPU's
	SizeBytes int    `json:"size_bytes"`
	Records   uint64 `json:"records"`
	Bytes     uint64 `json:"bytes"`
	Lost      uint64 `json:"lost,omitempty"`
	Corrupt   uint64 `json:"corrupt,omitempty"` // records that were not decoded
	Throttled uint64 `json:"throttled,omitempty"`
	PeakBytes uint64 `json:"peak_bytes"` // most that was waiting at a Poll
}

func mapRing(fd, dataSize, pageSize int, writable bool) (*ring, error) {
	prot := unix.PROT_READ
	if writable {
		prot |= unix.PROT_WRITE
	}
	mem, err := unix.Mmap(fd, 0, pageSize+dataSize, prot, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &ring{
		memory: memory{
			mem:  mem,
			page: (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(mem))),
			data: mem[pageSize:],
		},
		cpu:  -1,
		stat: RingStats{CPU: -1, TID: -1, SizeBytes: dataSize},
	}, nil
}

func (r *ring) unmap() error {
	if r.mem == nil {
		return nil
	}
	var err error
	if r.spool != nil {
		err = r.spool.close(r)
	}
	err = errors.Join(err, r.unmapOthers(), unix.Munmap(r.mem))
	r.mem, r.page, r.data, r.final = nil, nil, nil, nil
	r.known, r.visible = r.pos, r.pos // nothing is left to read
	return err
}

// readable is the position up to which there are records to read.
func (r *ring) readable() uint64 {
	if r.backward && !r.frozen {
		return 0
	}
	if r.spool != nil {
		r.spool.take(r)
	}
	return r.whole(r.head()) + uint64(len(r.final))
}

// head is where the kernel, or the spool, writes next. The load orders the reads
// of the records after it.
func (r *ring) head() uint64 {
	if r.spool != nil {
		return r.spool.copied.Load()
	}
	if m := r.last(); m != nil {
		return m.head()
	}
	return r.begin + atomic.LoadUint64(&r.page.Data_head)
}

// written is where the kernel writes next, whether or not the spool has taken what is before.
func (r *ring) written() uint64 {
	if r.spool != nil {
		return r.spool.head()
	}
	return r.head()
}

// at is where in data a position is.
func (r *ring) at(pos uint64) uint64 { return (pos - r.base) & uint64(len(r.data)-1) }

// Bounds implements event.Ring.
func (b *bounds) Bounds() (known, visible uint64) { return b.known, b.visible }

// Pos implements event.Ring.
func (b *bounds) Pos() uint64 { return b.pos }

// Release implements event.Ring.
func (r *ring) Release() {
	if r.page != nil {
		r.suspectLoss()
		// The final record is no part of the ring.
		r.tail = min(r.pos, r.end())
		if r.spool != nil {
			r.spool.released.Store(r.tail)
			return
		}
		r.retire()
		if r.tail >= r.begin {
			atomic.StoreUint64(&r.page.Data_tail, r.tail-r.begin)
		}
	}
}

// suspectLoss notes where the ring is full: the next record does not fit, and
// the kernel says so only with a later one that does.
func (r *ring) suspectLoss() {
	if r.backward || r.last() != nil {
		return
	}
	if r.spool != nil {
		if h := r.spool.suspect.Load(); h > r.suspect {
			r.suspect = h
			r.tight = r.tight || h == r.visible
		}
		return
	}
	if h := r.head(); h-max(r.tail, r.begin)+min(uint64(len(r.data))/8, 64<<10) > uint64(len(r.data)) {
		r.suspect = h
		r.tight = r.tight || h == r.visible
	}
}

// look moves the end of the visible part. Until there is more to see, a ring
// that was full stays tight: it may be empty by then, and full again.
func (r *ring) look(visible uint64) {
	r.tight = visible == r.suspect && visible != 0 || r.tight && visible == r.visible
	r.visible = visible
	r.suspectLoss()
}

// Tight reports that records may have been lost behind the last visible one
// and that no record tells of it yet. Package order asks.
func (r *ring) Tight() bool { return r.tight }

// end is the position after the last record in the ring's memory.
func (r *ring) end() uint64 { return r.visible - uint64(len(r.final)) }

// Read implements event.Ring.
func (r *ring) Read(dst []event.Event, until uint64) int {
	if len(r.marks) > 0 {
		return r.readOver(dst, until)
	}
	return r.read(dst, until, r.end())
}

// read reads records of one mapping, which end at end.
//
// Fast path: this loop runs for every record.
func (r *ring) read(dst []event.Event, until, end uint64) int {
	n := 0
	pos := r.pos // until may lie inside a record, which is then read
	until = min(until, r.visible)
	if pos >= until {
		return 0 // base may be about to change
	}
	mask, base := uint64(len(r.data)-1), r.base
	to := r.to
	if to == 0 {
		to = math.MaxUint64
	}
	for n < len(dst) && pos < until && pos < end {
		if r.dec.shared != nil && len(r.only) == 0 && r.family == nil && pos >= r.from && pos < to {
			var k int
			k, pos = r.burst(dst[n:], pos, min(until, end, to))
			r.stat.Records += uint64(k)
			if n += k; n == len(dst) || pos >= until || pos >= end {
				break
			}
		}
		off := (pos - base) & mask
		// Headers are aligned to 8 bytes and never wrap.
		size := uint64(binary.LittleEndian.Uint16(r.data[off+6:]))
		if size < headerSize || size&7 != 0 || size > end-pos {
			// Nothing tells where the next record starts.
			r.stat.Corrupt++
			pos = end
			break
		}
		var rec []byte
		if off+size <= uint64(len(r.data)) {
			rec = r.data[off : off+size : off+size]
		} else {
			rec = r.unwrap(off, size)
		}
		outside := pos < r.from || pos >= to
		pos += size
		e := &dst[n]
		if !r.dec.Decode(rec, e) {
			r.stat.Corrupt++
			continue
		}
		if outside && e.Kind == event.Sample {
			continue
		}
		if len(r.only) != 0 && e.Kind == event.Sample && !slices.Contains(r.only, e.PID) {
			continue
		}
		if r.family != nil && e.Kind == event.Sample && !r.family.mine(e.PID, e.TID) {
			continue
		}
		e.Ring = r.index
		if r.cpu >= 0 {
			e.CPU = r.cpu
		}
		n++
		if e.Kind != event.Sample {
			r.note(e)
		}
		r.stat.Records++
	}
	r.stat.Bytes += pos - r.pos
	r.pos = pos
	inOrder(dst[:n])
	if len(r.final) != 0 && n < len(dst) && pos == end && pos < until {
		r.readFinal(&dst[n])
		n++
	}
	return n
}

// inOrder puts records that were written late in their places. The kernel stamps a
// record before it makes room for it in the ring; an interrupt in between writes
// records of its own, which come first and have later times. FORK, EXIT and the
// like take longest: some 10 us, and of a guest the hypervisor may take the CPU
// away there. Nothing moves across a loss, which is told by its place. One whose
// place is in an earlier batch stays behind; package order counts it as late.
//
// Fast path: the loop's conditions run for every record, its body rarely.
func inOrder(evs []event.Event) {
	for i := 1; i < len(evs); i++ {
		if evs[i].Time >= evs[i-1].Time || evs[i].Time == 0 {
			continue
		}
		e := evs[i]
		at := i
		for ; e.Kind != event.Lost && at > 0 && evs[at-1].Kind != event.Lost &&
			evs[at-1].Time > e.Time; at-- {
			evs[at] = evs[at-1]
		}
		evs[at] = e
	}
}

// unwrap copies the record at off that continues at the ring's start.
func (r *ring) unwrap(off, size uint64) []byte {
	if uint64(len(r.scratch))*8 < size {
		r.scratch = make([]uint64, size/8)
	}
	rec := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r.scratch))), size)
	k := copy(rec, r.data[off:])
	copy(rec[k:], r.data)
	return rec
}

// note keeps count of the records that are about the ring itself.
//
// Slow path: such records are rare.
func (r *ring) note(e *event.Event) {
	switch e.Kind {
	case event.Lost:
		if l, ok := decodeLost(e); ok {
			r.stat.Lost += l.Count
			// LOST_SAMPLES are not in the events' own counters.
			if le32(e.Rec, 0) == unix.PERF_RECORD_LOST {
				r.lostSeen += l.Count
			}
			if e.Kind = r.dec.lostKind(); e.Kind == event.Lost {
				e.Count = uint32(min(l.Count-r.aside.of(l.Count), math.MaxUint32))
			}
		}
	case event.Throttle:
		r.stat.Throttled++
	}
}

// A lostAside is the records about tasks among those that a ring with events lost. The kernel's LOST records
// count both; what the dummies lost their own counters say. These may be ahead of the LOST records, which
// come when there is room again: no more is taken from one than it tells of, and the last one, which
// addFinal makes, settles the sum.
type lostAside struct {
	dummies  []eventFD
	closed   uint64 // lost of dummies that were closed
	reported uint64
}

// of is how many of count lost records are no events.
func (a *lostAside) of(count uint64) uint64 {
	lost := a.closed
	for i := range a.dummies {
		if n, err := a.dummies[i].readLost(); err == nil {
			lost += n
		}
	}
	n := min(count, lost-min(lost, a.reported))
	a.reported += n
	return n
}

// close is told that a dummy is about to be closed, which lost so many records.
func (a *lostAside) close(f *eventFD, lost uint64) {
	at := slices.IndexFunc(a.dummies, func(d eventFD) bool { return d.fd == f.fd })
	if at >= 0 {
		a.dummies = slices.Delete(a.dummies, at, at+1)
		a.closed += lost
	}
}

// addFinal appends a LOST record that the kernel did not write, for count
// records lost since its last one.
func (r *ring) addFinal(id, count uint64) {
	r.final = lostRecord(id, count)
	r.visible += uint64(len(r.final))
	r.known = r.visible
}

// lostWaiting adds up the LOST records that have not been read yet.
func (r *ring) lostWaiting() uint64 {
	var n uint64
	r.walk(r.pos, r.head(), func(data []byte, off uint64) {
		if le32(data, int(off)) == unix.PERF_RECORD_LOST && recordSize(data, off) >= 24 {
			n += le64(data, int((off+16)&uint64(len(data)-1)))
		}
	})
	return n
}

func recordSize(data []byte, off uint64) uint64 {
	return uint64(binary.LittleEndian.Uint16(data[off+6:]))
}

// walk calls fn for each record from pos up to end, wherever it lies, and returns
// the position after the last one that is whole. Headers do not wrap.
func (r *ring) walk(pos, end uint64, fn func(data []byte, off uint64)) uint64 {
	for pos < end {
		data, base, until := r.span(pos, end)
		if until == pos {
			pos += markSize
			continue
		}
		off := (pos - base) & uint64(len(data)-1)
		size := recordSize(data, off)
		if until-pos < headerSize || size < headerSize || size > until-pos {
			return pos
		}
		fn(data, off)
		pos += size
	}
	return pos
}

func (r *ring) readFinal(e *event.Event) {
	*e = event.Event{
		Kind: event.Lost,
		Time: r.dec.prev,
		Rec:  r.final,
		PID:  -1,
		TID:  -1,
		CPU:  r.cpu,
		Ring: r.index,
	}
	if l, ok := decodeLost(e); ok {
		e.Count = uint32(min(l.Count, math.MaxUint32))
	}
	r.note(e)
	r.stat.Records++
	r.pos = r.visible
}
