package relay

import (
	"sync"

	"golang.org/x/sys/unix"
)

// This file keeps the newest sent bytes until all receivers have read them.
//
// All receivers share one copy, with one bound, so a receiver that does not
// read has no effect on the others. Bytes beyond the bound are dropped, the
// oldest first. A receiver that had not read them has lost these events; it
// gets a LOST record, and goes on with the oldest bytes that are left. The
// tempting alternative, a queue for each receiver, would multiply the memory by
// the number of receivers, or divide the bound by it.
//
// Each piece has the names of its events' threads, and the definitions that its
// stacks need, so that it can be read without the other pieces.
//
// A receiver copies whole records into its own buffer, a bounded number of
// bytes at a time. So bytes that were dropped from the backlog are not kept in
// memory for it.

// maxTake is the approximate number of bytes that a receiver takes at a time.
const maxTake = 32 << 10

// A backlog has the sent bytes that some readers have not taken so far.
type backlog struct {
	form  form
	head  []byte
	limit int

	mu         sync.Mutex
	ready      sync.Cond
	chunks     []chunk
	first      uint64 // the number of chunks[0]
	size       int    // of chunks
	events     uint64 // sent so far
	free       [][]byte
	readers    map[*reader]bool
	lostBefore uint64 // events that were lost by readers that have left
	closed     bool
}

// A chunk is a piece in the backlog.
type chunk struct {
	piece
	before uint64 // number of events in all earlier chunks
	weight int    // its size in bytes
}

// A reader is the position of a receiver in the backlog. One goroutine calls
// take. The members are under the backlog's lock.
type reader struct {
	log     *backlog
	head    []byte // the part of the head that is not taken so far
	next    uint64 // the number of its next chunk
	at      int    // offset in the records of the next chunk
	count   uint64 // number of events taken or lost
	lost    uint64
	untold  uint64       // lost events for which no LOST record was sent so far
	defs    defsPosition // definitions of stacks
	leaving bool
	content bool // the receiver needs no rounds without events
	buf     []byte
}

func newBacklog(s *Sender) *backlog {
	b := &backlog{form: s.form, head: s.head, limit: s.opt.Bytes, readers: map[*reader]bool{}}
	b.ready.L = &b.mu
	return b
}

// join adds a reader of everything sent from now on.
func (b *backlog) join() *reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &reader{log: b, head: b.head, next: b.first + uint64(len(b.chunks)), count: b.events}
	b.readers[r] = true
	return r
}

// contented records that a reader needs no rounds without events.
func (b *backlog) contented(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.content = true
}

// asking reports that some reader needs rounds without events.
func (b *backlog) asking() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		if !r.content {
			return true
		}
	}
	return false
}

// leave removes a reader, and ends its wait in take.
func (b *backlog) leave(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.readers[r] {
		return
	}
	r.catchUp()
	delete(b.readers, r)
	b.lostBefore += r.lost
	r.leaving = true
	b.trim()
	b.ready.Broadcast()
}

// put adds a piece.
func (b *backlog) put(p *piece) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || len(b.readers) == 0 {
		return
	}
	c := chunk{piece: *p, before: b.events, weight: len(p.records) + b.news(p)}
	c.records = append(b.buffer(), p.records...)
	b.chunks = append(b.chunks, c)
	b.size += c.weight
	b.events += p.events
	// A large chunk is not dropped to make room for a small one.
	for len(b.chunks) > 1 && b.size > b.limit && b.size-b.chunks[0].weight >= b.limit/2 {
		b.drop()
	}
	b.ready.Broadcast()
}

// news returns the bytes of a piece's definitions that the previous chunk does
// not have.
func (b *backlog) news(p *piece) int {
	if n := len(b.chunks); n > 0 && b.chunks[n-1].epoch == p.epoch {
		return len(p.defs) - len(b.chunks[n-1].defs)
	}
	return len(p.defs)
}

// maxFree bounds the number of unused buffers that are kept.
const maxFree = 8

func (b *backlog) buffer() []byte {
	n := len(b.free)
	if n == 0 {
		return nil
	}
	buf := b.free[n-1]
	b.free = b.free[:n-1]
	return buf[:0]
}

// drop removes the oldest chunk.
func (b *backlog) drop() {
	c := &b.chunks[0]
	b.size -= c.weight
	if len(b.free) < maxFree {
		b.free = append(b.free, c.records)
	}
	*c = chunk{}
	b.chunks = b.chunks[1:]
	b.first++
	if len(b.chunks) == 0 {
		b.chunks = nil
	}
}

// trim removes chunks that all readers have taken.
func (b *backlog) trim() {
	least := b.first + uint64(len(b.chunks))
	for r := range b.readers {
		least = min(least, r.next)
	}
	for b.first < least {
		b.drop()
	}
}

// catchUp counts the events that a reader lost, since they were dropped before
// it took them, and moves it to the oldest chunk. There is always one, since
// the last chunk is never dropped.
func (r *reader) catchUp() {
	b := r.log
	if r.next >= b.first {
		return
	}
	to := b.chunks[0].before
	r.lost += to - r.count
	r.untold += to - r.count
	r.next, r.at, r.count = b.first, 0, to
}

// take waits for whole records and returns them; nil means that everything was
// taken and the backlog is closed. The bytes are valid until the next call.
func (r *reader) take() []byte {
	if len(r.head) > 0 {
		n := min(len(r.head), maxTake)
		out := r.head[:n]
		r.head = r.head[n:]
		return out
	}
	b := r.log
	b.mu.Lock()
	defer b.mu.Unlock()
	for r.next == b.first+uint64(len(b.chunks)) && !b.closed && !r.leaving {
		b.ready.Wait()
	}
	if r.leaving || r.next == b.first+uint64(len(b.chunks)) {
		return nil
	}
	r.buf = r.buf[:0]
	r.catchUp()
	c := &b.chunks[r.next-b.first]
	if r.untold > 0 {
		r.buf = b.form.appendLost(r.buf, r.untold, c.first)
		r.untold = 0
	}
	// Events follow all definitions to which they refer.
	if defs := r.defs.missing(&c.piece); len(defs) > 0 {
		n := wholeRecords(defs)
		r.defs.have(&c.piece, len(defs)-n)
		r.buf = append(r.buf, defs[:n]...)
		if n < len(defs) {
			return r.buf
		}
	}
	n := wholeRecords(c.records[r.at:])
	r.buf = append(r.buf, c.records[r.at:r.at+n]...)
	r.count += samplesIn(c.records[r.at : r.at+n])
	r.at += n
	if r.at == len(c.records) {
		r.next, r.at, r.count = r.next+1, 0, c.before+c.events
		b.trim()
	}
	return r.buf
}

// wholeRecords returns the size of the first records of b: about maxTake bytes,
// at least one record.
func wholeRecords(b []byte) int {
	n := 0
	for n < len(b) && n < maxTake {
		n += int(le.Uint16(b[n+6:]))
	}
	return n
}

// samplesIn returns the number of samples in records.
func samplesIn(b []byte) (n uint64) {
	for len(b) > 0 {
		if le.Uint32(b) == unix.PERF_RECORD_SAMPLE {
			n++
		}
		b = b[le.Uint16(b[6:]):]
	}
	return n
}

// dropped returns the number of events that all readers lost, including readers
// that have left.
func (b *backlog) dropped() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.lostBefore
	for r := range b.readers {
		r.catchUp()
		n += r.lost
	}
	return n
}

// close ends the backlog. Its content can still be taken.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.ready.Broadcast()
	b.mu.Unlock()
}
