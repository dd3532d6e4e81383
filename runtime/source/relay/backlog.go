package relay

import (
	"sync"

	"golang.org/x/sys/unix"
)

// This file keeps the latest sent bytes until all receivers have taken them.
//
// All share one copy, so its bound holds for all of them together, and one that
// does not read takes nothing from the others. Bytes beyond the bound go, the
// oldest first: a receiver that had not taken it has lost these events, is told
// so, and goes on with the oldest that is left. The tempting queue for each
// receiver multiplies the memory by their number, or divides the bound by it.
//
// Each piece names the threads of its events, and has the definitions that its
// stacks need, so that a reader that missed other pieces understands it.
//
// A receiver takes whole records, a bounded number of bytes at a time, into a
// buffer of its own: nothing that has gone from the backlog is held for it.

// maxTake is about how much a receiver takes at a time.
const maxTake = 32 << 10

// A backlog holds the bytes that several readers still have to take.
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
	lostBefore uint64 // events that readers lost which have left
	closed     bool
}

// A chunk is a piece, kept.
type chunk struct {
	piece
	before uint64 // events of all earlier ones
	weight int    // bytes that it holds
}

// A reader is how far a receiver has got. One goroutine takes; all else is under
// the backlog's lock.
type reader struct {
	log     *backlog
	head    []byte // the rest of it that the reader has not got
	next    uint64 // the number of its next chunk
	at      int    // in its records
	count   uint64 // events that it got or lost
	lost    uint64
	untold  uint64       // of lost: the receiver does not know of them
	defs    defsPosition // definitions of stacks
	leaving bool
	content bool // it wants no rounds without events
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

// contented notes that a reader wants no rounds without events.
func (b *backlog) contented(r *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.content = true
}

// asking reports that some reader wants rounds without events.
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

// leave takes a reader out, and frees the goroutine that waits in take.
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
	// A large chunk does not go for a small one.
	for len(b.chunks) > 1 && b.size > b.limit && b.size-b.chunks[0].weight >= b.limit/2 {
		b.drop()
	}
	b.ready.Broadcast()
}

// news is how many bytes of a piece's definitions the chunk before does not have.
func (b *backlog) news(p *piece) int {
	if n := len(b.chunks); n > 0 && b.chunks[n-1].epoch == p.epoch {
		return len(p.defs) - len(b.chunks[n-1].defs)
	}
	return len(p.defs)
}

// maxFree is how many buffers wait for their next use.
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

// drop forgets the oldest chunk.
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

// trim forgets chunks that all readers have.
func (b *backlog) trim() {
	least := b.first + uint64(len(b.chunks))
	for r := range b.readers {
		least = min(least, r.next)
	}
	for b.first < least {
		b.drop()
	}
}

// catchUp counts the losses of a reader: events that went before it took them.
// There is a chunk after it: the last one stays.
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

// take waits for whole records; nil means that everything was taken, and no
// more will come. They are the caller's until the next call.
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
	// Events come after all definitions that they refer to.
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

// wholeRecords is the size of the first records of b: about maxTake bytes, one
// at least.
func wholeRecords(b []byte) int {
	n := 0
	for n < len(b) && n < maxTake {
		n += int(le.Uint16(b[n+6:]))
	}
	return n
}

// samplesIn is how many events records have.
func samplesIn(b []byte) (n uint64) {
	for len(b) > 0 {
		if le.Uint32(b) == unix.PERF_RECORD_SAMPLE {
			n++
		}
		b = b[le.Uint16(b[6:]):]
	}
	return n
}

// dropped is how many events all readers lost, those that left too.
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

// close ends the backlog: its content can still be taken.
func (b *backlog) close() {
	b.mu.Lock()
	b.closed = true
	b.ready.Broadcast()
	b.mu.Unlock()
}
