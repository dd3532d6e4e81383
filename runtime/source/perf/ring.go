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

// A ring is one mapped buffer. Positions are bytes since the ring was made, as
// in the kernel.
//
// The kernel writes a record that does not fit before the end of the memory in
// two pieces. Mapping the data twice in a row would hide that, but kernels
// since 6.17 refuse such a mapping. So such a record is copied to scratch.
// There is at most one between two releases.
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
	ended bool  // no more records will come

	scratch []uint64 // aligned, so that callchains can be views of it

	// lostSeen is the sum of the LOST records. After Stop, final has a record
	// for the losses that the kernel could not report.
	lostSeen uint64
	final    []byte
	aside    lostAside

	stat RingStats
}

// A memory is the mapped memory of a ring.
type memory struct {
	mem  []byte                  // the whole mapping
	page *unix.PerfEventMmapPage // its first page
	data []byte                  // the rest; len is a power of two
	// spool, if not nil, has copies of the records, and data is its memory.
	spool *spool
	base  uint64 // the position at the begin of data
	begin uint64 // the position of the first record in mem
}

// bounds are the read position of a ring or buffer, and the positions up to
// which it can be read.
type bounds struct {
	pos            uint64 // after the last record read
	known, visible uint64
	first          uint64 // head at the first of the two looks of Poll
}

// ringChain has the buffers that continue the ring of a CPU that was offline, see continued.go.
type ringChain struct {
	marks   []mark
	retired [][]byte // mappings that were read, and of which events may be views
	carried uint64   // lost records, of closed events, that are settled; or to report, of a backward ring
}

// A choice selects the wanted samples; the zero value selects all.
type choice struct {
	from   uint64  // begin of the run: earlier samples came before all events were enabled
	to     uint64  // end of the run, 0 until then: later samples came while events were being disabled
	only   []int32 // only samples of these processes; nil for all
	family *family
	looked uint64 // position up to which FORK records were read for family
}

// newest is the state of a backward ring, which keeps the newest records.
type newest struct {
	backward bool
	frozen   bool // the kernel does not write to it: it can be read
	wrapped  bool // when frozen: its first records were overwritten
}

// A room records whether the ring was full.
type room struct {
	// suspect is the position after which records may have been lost: the head
	// when the ring was almost full. tight says that suspect is the end of the
	// visible part.
	suspect uint64
	tight   bool
	tail    uint64 // end of the released part
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
	PeakBytes uint64 `json:"peak_bytes"` // most bytes that waited at a Poll
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

// readable returns the position up to which records can be read.
func (r *ring) readable() uint64 {
	if r.backward && !r.frozen {
		return 0
	}
	if r.spool != nil {
		r.spool.take(r)
	}
	return r.whole(r.head()) + uint64(len(r.final))
}

// head returns the position at which the kernel, or the spool, writes next. The
// load is ordered before the reads of the records.
func (r *ring) head() uint64 {
	if r.spool != nil {
		return r.spool.copied.Load()
	}
	if m := r.last(); m != nil {
		return m.head()
	}
	return r.begin + atomic.LoadUint64(&r.page.Data_head)
}

// written returns the position at which the kernel writes next, even if the spool has not
// copied all records before it.
func (r *ring) written() uint64 {
	if r.spool != nil {
		return r.spool.head()
	}
	return r.head()
}

// at returns the offset of a position in data.
func (r *ring) at(pos uint64) uint64 { return (pos - r.base) & uint64(len(r.data)-1) }

// Bounds implements event.Ring.
func (b *bounds) Bounds() (known, visible uint64) { return b.known, b.visible }

// Pos implements event.Ring.
func (b *bounds) Pos() uint64 { return b.pos }

// Release implements event.Ring.
func (r *ring) Release() {
	if r.page != nil {
		r.suspectLoss()
		// The final record is not in the ring's memory.
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

// suspectLoss records the position at which the ring is full: the next record
// does not fit, and the kernel reports that loss only with a later record that
// fits.
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

// look moves the end of the visible part. A ring that was full stays tight
// until more becomes visible, since it may have been emptied and filled again.
func (r *ring) look(visible uint64) {
	r.tight = visible == r.suspect && visible != 0 || r.tight && visible == r.visible
	r.visible = visible
	r.suspectLoss()
}

// Tight reports that records may have been lost after the last visible one,
// without a record about the loss so far. Package order calls it.
func (r *ring) Tight() bool { return r.tight }

// end returns the position after the last record in the ring's memory.
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
	pos := r.pos // until may be inside of a record, which is then read
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
			// The start of the next record is unknown.
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

// inOrder sorts records that were written late. The kernel reads the time of a
// record before it reserves room in the ring. If an interrupt writes records in
// between, these come first and have later times. For FORK, EXIT and similar
// records that interval is longest: some 10 us, and in a guest the hypervisor may
// take the CPU away meanwhile. Records are not moved across a loss, whose position
// matters. A record that belongs to an earlier batch is not moved; package order
// counts it as late.
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

// unwrap copies a record at off that continues at the start of the ring's
// memory.
func (r *ring) unwrap(off, size uint64) []byte {
	if uint64(len(r.scratch))*8 < size {
		r.scratch = make([]uint64, size/8)
	}
	rec := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(r.scratch))), size)
	k := copy(rec, r.data[off:])
	copy(rec[k:], r.data)
	return rec
}

// note counts the records about the ring itself, such as LOST.
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

// A lostAside counts the side records among the lost records of a ring with events. The kernel's
// LOST records count both kinds; the counters of the dummy events have the lost side records. These
// counters may be ahead of the LOST records, which are written only when there is room again. So at
// most the count of a LOST record is subtracted from it, and the last one, made by addFinal,
// corrects the sum.
type lostAside struct {
	dummies  []eventFD
	closed   uint64 // lost side records of dummies that were closed
	reported uint64
}

// of returns how many of count lost records are side records.
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

// close records the losses of a dummy before it is closed.
func (a *lostAside) close(f *eventFD, lost uint64) {
	at := slices.IndexFunc(a.dummies, func(d eventFD) bool { return d.fd == f.fd })
	if at >= 0 {
		a.dummies = slices.Delete(a.dummies, at, at+1)
		a.closed += lost
	}
}

// addFinal appends a LOST record that the kernel did not write, for count
// records that were lost after its last one.
func (r *ring) addFinal(id, count uint64) {
	r.final = lostRecord(id, count)
	r.visible += uint64(len(r.final))
	r.known = r.visible
}

// lostWaiting returns the sum of the LOST records that are not read so far.
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

// walk calls fn for each record from pos up to end, in all buffers of the ring,
// and returns the position after the last complete record. Headers do not wrap.
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
