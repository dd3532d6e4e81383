package join

import "ppscript/runtime/operator/key"

// A queue has the numbers of the waiting events in the order in which they came, so
// that bounds evict the oldest. An event that leaves makes a gap: a doubly linked list
// would have to write to the neighbours, which are elsewhere in memory.
type queue struct {
	ring       []int32 // len is a power of two
	head, tail uint32  // places only grow; a place is in ring by its low bits
}

func newQueue() queue { return queue{ring: make([]int32, 256)} }

func (q *queue) slot(place uint32) *int32 { return &q.ring[place&uint32(len(q.ring)-1)] }

func (q *queue) full() bool { return q.tail-q.head == uint32(len(q.ring)) }

// add returns the place that it gives to n.
func (q *queue) add(n int32) uint32 {
	place := q.tail
	*q.slot(place) = n
	q.tail++
	return place
}

func (q *queue) remove(place uint32) { *q.slot(place) = nobody }

// oldest returns the event that came first, nobody if none waits.
func (q *queue) oldest() int32 {
	for ; q.head != q.tail; q.head++ {
		if n := *q.slot(q.head); n != nobody {
			return n
		}
	}
	return nobody
}

// newest returns the event that came last, nobody if none waits.
func (q *queue) newest() int32 {
	for ; q.head != q.tail; q.tail-- {
		if n := *q.slot(q.tail - 1); n != nobody {
			return n
		}
	}
	return nobody
}

// each calls fn for all waiting events, oldest first. fn may remove the event
// that it is called for.
func (q *queue) each(fn func(n int32)) {
	for place := q.head; place != q.tail; place++ {
		if n := *q.slot(place); n != nobody {
			fn(n)
		}
	}
}

// makeRoom makes room in a full queue: it drops the gaps at the begin, else all
// gaps, or doubles the queue if there are few gaps. waiting is the number of
// events.
//
// Slow path: each gap is dropped once, and others are moved only when there are
// as many gaps.
func (q *queue) makeRoom(at []waiting, count int) {
	if q.oldest(); !q.full() {
		return
	}
	to := queue{ring: q.ring, head: q.head, tail: q.head}
	if 2*count > len(q.ring) {
		to.ring = key.Huge(make([]int32, 2*len(q.ring)))
	}
	q.each(func(n int32) { at[n].place = to.add(n) })
	*q = to
}
