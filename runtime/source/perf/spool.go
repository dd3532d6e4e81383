package perf

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// This file keeps rings from running full while their reader is busy for long:
// with reading the symbols of a program that was seen for the first time, which
// takes a second for a large one. A ring with a spool is read out of the spool's
// memory, to which its records are copied whenever somebody polls, and every few
// ms while nobody does. So a reader may take its time, and the kernel's ring only
// has to hold the samples of these few ms.
//
// The tempting alternative, larger rings, costs locked memory all the time, and
// a ring of any size is full after some 100 ms where samples carry a copy of the
// stack.

// A spool is where the records of a ring wait. Positions are the ring's positions,
// so only the memory is another: ring.data is the spool's.
type spool struct {
	mu     sync.Mutex
	kernel []byte // data of the kernel's ring; nil after the end
	page   *unix.PerfEventMmapPage
	begin  uint64 // the position of the first record in kernel
	mem    []byte // of a buffer that followed the first one, which the ring has
	next   []*mapping
	final  bool   // the kernel writes no more
	used   uint64 // of the memory, since it was given back last

	copied   atomic.Uint64 // up to which the records were copied
	released atomic.Uint64 // up to which the reader needs them no more
	suspect  atomic.Uint64 // see ring
}

// leastSpool is the least memory of a spool, in rings: the last content of the
// ring has to find room as well.
const leastSpool = 4

// keptSpool is how much of its memory a spool keeps when it is empty, in bytes.
const keptSpool = 1 << 20

// addSpool puts memory of that size, rounded up to a power of two, in front of a
// ring of the oldest records. Memory that is not used is not there.
func (r *ring) addSpool(size int) error {
	n := leastSpool * len(r.data)
	for n < size {
		n *= 2
	}
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return err
	}
	r.spool = &spool{kernel: r.data, page: r.page, begin: r.begin}
	r.spool.copied.Store(r.begin)
	r.data = mem
	return nil
}

// close gives the memory back; nothing is taken from the ring any more.
func (p *spool) close(r *ring) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kernel, p.page = nil, nil
	mem := r.data
	r.data = nil
	err := unix.Munmap(mem)
	if p.mem != nil {
		err = errors.Join(err, unix.Munmap(p.mem))
	}
	for _, m := range p.next {
		err = errors.Join(err, unix.Munmap(m.mem))
	}
	p.mem, p.next = nil, nil
	return err
}

// head is where the kernel writes next in its present buffer.
func (p *spool) head() uint64 { return p.begin + atomic.LoadUint64(&p.page.Data_head) }

// follow has the records of another buffer come behind those of the present one,
// which is not written to any more, and returns where that ends.
func (p *spool) follow(to *mapping) (end uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end = p.head()
	if n := len(p.next); n > 0 {
		end = p.next[n-1].head()
	}
	to.begin = end + markSize
	p.next = append(p.next, to)
	return end
}

// turn goes on with the next buffer once all of the present one was taken; the
// mark between them is left blank. It reports whether there is more to take.
func (p *spool) turn(r *ring) bool {
	taken := p.copied.Load()
	if len(p.next) == 0 || taken != p.head() {
		return false
	}
	if taken+markSize-p.released.Load() > uint64(len(r.data)) {
		return false
	}
	if p.mem != nil {
		unix.Munmap(p.mem)
	}
	m := p.next[0]
	p.next = p.next[1:]
	p.kernel, p.page, p.begin, p.mem = m.data, m.page, m.begin, m.mem
	p.used += markSize
	p.copied.Store(m.begin)
	return true
}

// take copies the records that have come, as far as there is room. It is called
// by the reader of r, and by others while the reader is busy.
func (p *spool) take(r *ring) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kernel == nil {
		return
	}
	p.copy(r)
	for p.turn(r) {
		p.copy(r)
	}
}

// copy copies the records of the present buffer.
func (p *spool) copy(r *ring) {
	head, from := p.head(), p.copied.Load()
	if head == from {
		return
	}
	size := uint64(len(p.kernel))
	if head-from+min(size/8, 64<<10) > size {
		p.suspect.Store(head)
	}
	waiting := p.released.Load()
	if waiting == from {
		// All was read: the memory is used from its beginning again.
		r.base = from
		if p.used > keptSpool {
			unix.Madvise(r.data[keptSpool:], unix.MADV_DONTNEED) // or it is kept
		}
		p.used = 0
	}
	room := uint64(len(r.data)) - (from - waiting)
	if !p.final {
		room -= min(room, size)
	}
	until := head
	if head-from > room {
		until = p.whole(from, head, room)
	}
	for pos := from; pos < until; {
		src := p.kernel[(pos-p.begin)&(size-1):]
		dst := r.data[(pos-r.base)&uint64(len(r.data)-1):]
		pos += uint64(copy(dst[:min(uint64(len(dst)), until-pos)], src))
	}
	p.used = max(p.used, min(until-r.base, uint64(len(r.data))))
	atomic.StoreUint64(&p.page.Data_tail, until-p.begin)
	p.copied.Store(until)
}

// end takes all that is left: the kernel writes no more.
func (p *spool) end(r *ring) {
	p.mu.Lock()
	p.final = true
	p.mu.Unlock()
	p.take(r)
}

// whole is the position after the last record that ends within room.
func (p *spool) whole(from, head, room uint64) uint64 {
	pos := from
	for pos < head {
		// Headers are aligned to 8 bytes and never wrap.
		n := uint64(binary.LittleEndian.Uint16(p.kernel[(pos-p.begin)&uint64(len(p.kernel)-1)+6:]))
		if n < headerSize || pos+n-from > room {
			break
		}
		pos += n
	}
	return pos
}

// pumpEvery is how long rings are left alone while nobody polls: a ring of
// 128 KiB takes 8 ms of samples with stacks at 1 kHz.
const pumpEvery = 2 * time.Millisecond

// A pump empties rings into their spools while nobody polls.
type pump struct {
	mu    sync.Mutex
	timer *time.Timer
	busy  bool // the reader is
	rings []*ring
}

// begin says that the reader is busy from now on.
func (p *pump) begin() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = true
	if p.timer == nil {
		p.timer = time.AfterFunc(pumpEvery, p.work)
	} else {
		p.timer.Reset(pumpEvery)
	}
}

// end says that the reader looks after the rings itself.
func (p *pump) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	if p.timer != nil {
		p.timer.Stop()
	}
}

// add has a ring that was made later emptied as well.
func (p *pump) add(r *ring) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rings = append(p.rings, r)
}

func (p *pump) work() {
	p.mu.Lock()
	rings := p.rings
	p.mu.Unlock()
	for _, r := range rings {
		r.spool.take(r)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		p.timer.Reset(pumpEvery)
	}
}

// addSpools gives the rings spools that take so many bytes in all. A ring that
// gets none is read in place.
func (s *ringSet) addSpools(bytes int) {
	if bytes <= 0 || len(s.live) == 0 {
		return
	}
	p := &pump{}
	for _, r := range s.live {
		if err := r.addSpool(bytes / len(s.live)); err == nil {
			p.rings = append(p.rings, r)
		}
	}
	s.pump = p
}

// spoolLater gives a ring that was made after the others a spool like theirs.
func (s *ringSet) spoolLater(r *ring) {
	if s.pump == nil || len(s.pump.rings) == 0 {
		return
	}
	if err := r.addSpool(len(s.pump.rings[0].data)); err == nil {
		s.pump.add(r)
	}
}
