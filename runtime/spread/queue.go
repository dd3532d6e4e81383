package spread

import (
	"sync"

	"ppscript/runtime/event"
)

// A queue is what a receiver has not taken yet. It is bounded: what finds no
// room is counted, and the receiver told as soon as there is some.
type queue struct {
	mu     sync.Mutex
	ready  sync.Cond
	buf    []byte
	spare  []byte
	limit  int
	lost   uint64
	total  uint64 // of lost
	since  event.Time
	closed bool
}

func newQueue(head []byte, limit int) *queue {
	q := &queue{limit: limit, buf: append([]byte(nil), head...)}
	q.ready.L = &q.mu
	return q
}

// put adds a piece of n events that begins at time t; all of it or nothing.
func (q *queue) put(b []byte, n uint64, t event.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if len(q.buf)+len(b) > q.limit {
		q.lost += n
		q.total += n
		return
	}
	if q.lost > 0 {
		q.buf = appendLost(q.buf, q.lost, t)
		q.lost = 0
	}
	q.buf = append(q.buf, b...)
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
