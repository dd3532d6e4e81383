package spread

import (
	"sync"
	"sync/atomic"
)

// A queue is what a receiver has not taken yet. It is bounded: what finds no
// room is counted, and the receiver told as soon as there is some.
type queue struct {
	form   form
	fresh  *atomic.Bool // the sender's: names of threads are sent again
	mu     sync.Mutex
	ready  sync.Cond
	buf    []byte
	spare  []byte
	limit  int
	lost   uint64
	total  uint64 // of lost
	closed bool
	known  known // definitions of stacks
}

func newQueue(s *Sender) *queue {
	q := &queue{form: s.form, fresh: &s.fresh, limit: len(s.head) + s.opt.Bytes, buf: append([]byte(nil), s.head...)}
	q.ready.L = &q.mu
	return q
}

// put adds a piece, with what it needs; all of it or nothing. Who has taken
// everything gets a piece of any size.
func (q *queue) put(p *piece) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	defs := q.known.missing(p)
	if len(q.buf) > 0 && len(q.buf)+len(defs)+len(p.records) > q.limit {
		q.lost += p.events
		q.total += p.events
		q.fresh.Store(true) // there may have been names in it
		return
	}
	if q.lost > 0 {
		q.buf = q.form.appendLost(q.buf, q.lost, p.first)
		q.lost = 0
	}
	q.buf = append(append(q.buf, defs...), p.records...)
	q.known.have(p)
	q.ready.Signal()
}

// take waits for bytes; nil means that the queue is closed and empty. The bytes
// are the caller's until the next call.
func (q *queue) take() []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.buf) == 0 && !q.closed {
		q.ready.Wait()
	}
	out := q.buf
	q.buf, q.spare = q.spare[:0], out
	if len(out) == 0 {
		return nil
	}
	return out
}

// close ends the queue: what is in it can still be taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.ready.Broadcast()
	q.mu.Unlock()
}

func (q *queue) dropped() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.total
}
