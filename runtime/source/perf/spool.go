package perf

import (
	"encoding/binary"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// This file prevents rings from becoming full while their reader is busy for
// long, for example with reading the symbols of a new program, which may take a
// second. The records of a ring with a spool are copied to the spool's memory at
// each Poll, and every few ms between Polls, and are read from there. So the
// kernel's ring needs room only for the samples of a few ms.
//
// The tempting alternative, larger rings, needs locked memory all the time, and
// even a large ring is full after some 100 ms if samples have a copy of the
// stack.

// A spool has copies of the records of a ring until they are read. Positions are
// those of the kernel's ring; ring.data is the spool's memory.
type spool struct {
	mu     sync.Mutex
	kernel []byte // data of the kernel's ring; nil after the end
	page   *unix.PerfEventMmapPage
	begin  uint64 // the position of the first record in kernel
	mem    []byte // the mapping of kernel, if it is not the ring's first buffer
	next   []*mapping
	final  bool   // the kernel does not write any more
	used   uint64 // bytes of the memory used since it was last freed

	copied   atomic.Uint64 // position up to which records were copied
	released atomic.Uint64 // position up to which the reader has released records
	suspect  atomic.Uint64 // see ring
}

// leastSpool is the least size of a spool, as a multiple of the ring's size:
// the last content of the ring must also fit.
const leastSpool = 4

// keptSpool is the number of bytes that an empty spool keeps in memory.
const keptSpool = 1 << 20

// addSpool adds a spool of that size, rounded up to a power of two, to a ring
// that is not backward. Unused pages of it take no memory.
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

// close frees the memory; no more records are copied.
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

// head returns the position at which the kernel writes next in its present
// buffer.
func (p *spool) head() uint64 { return p.begin + atomic.LoadUint64(&p.page.Data_head) }

// follow adds another buffer after the present one, to which the kernel does not
// write any more, and returns the end of the present one.
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

// turn switches to the next buffer when all records of the present one were
// copied; the bytes of the mark between them are left empty. It reports whether
// there is more to copy.
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

// take copies the new records, as far as there is room. It is called by the
// reader of r, and by the pump while the reader is busy.
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
		// All records were read: use the memory from its begin again.
		r.base = from
		if p.used > keptSpool {
			unix.Madvise(r.data[keptSpool:], unix.MADV_DONTNEED) // on an error the memory is kept
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

// end copies the rest after the kernel has stopped writing.
func (p *spool) end(r *ring) {
	p.mu.Lock()
	p.final = true
	p.mu.Unlock()
	p.take(r)
}

// whole returns the position after the last record that ends within room bytes.
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

// pumpEvery is the interval at which rings are emptied between Polls: a ring of
// 128 KiB has room for 8 ms of samples with stacks at 1 kHz.
const pumpEvery = 2 * time.Millisecond

// A pump copies records of rings to their spools between Polls.
type pump struct {
	mu    sync.Mutex
	timer *time.Timer
	busy  bool // the reader is busy: the pump runs
	rings []*ring
}

// begin starts the pump: the reader will be busy.
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

// end stops the pump: the reader polls.
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

// add adds a ring that was made later.
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

// addSpools adds spools to the rings, with bytes as their total size. A ring
// without a spool is read directly.
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

// spoolLater adds a spool of the same size to a ring that was made later.
func (s *ringSet) spoolLater(r *ring) {
	if s.pump == nil || len(s.pump.rings) == 0 {
		return
	}
	if err := r.addSpool(len(s.pump.rings[0].data)); err == nil {
		s.pump.add(r)
	}
}
