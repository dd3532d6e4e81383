package order

import (
	"math"
	"math/bits"

	"ppscript/runtime/event"
)

// A loser tree finds the ring with the oldest head. Its leaves are rings in the
// order of their indexes; every inner node keeps the loser of its match, and
// the winner of all is beside the tree. A new head of the winner is played up
// its path, with one comparison a level.
//
// With hundreds of rings whose events interleave, a comparison goes either way
// and a branch would be mispredicted half of the time, which costs more than all
// the rest. So a head is one number, its time above its leaf, and a match is the
// lesser and the greater of two numbers, for which processors need no branch.
// Times count from base, so that they fit above the leaf; a later head waits as
// "far" until its turn comes, and then base moves.
type loserTree struct {
	nodes  []uint64 // 1 is the root; 0 is unused
	lanes  []lane   // by leaf
	size   int      // of the leaves, a power of two
	bits   int      // of a leaf in a head
	live   int      // leaves that have a head
	base   event.Time
	far    uint64 // the least time that does not fit
	limit  event.Time
	stop   uint64 // the least head that is later than limit
	winner uint64
	built  []uint64 // where build plays
}

// A lane has the next records of a ring, with only the members that the merge
// needs for every event, so that the lanes of all rings fit the first-level
// cache.
type lane struct {
	evs  []event.Event
	next int
	// second is the head that follows the next record, loaded long before it is
	// needed; none if there is no such record.
	second uint64
	c      *cursor
}

// none is the head of a ring without one: greater than all others.
const none = math.MaxUint64

// reset empties the loser tree.
func (t *loserTree) reset() {
	t.lanes = t.lanes[:0]
	t.live = 0
	t.winner = none
	t.limit = event.MaxTime
}

// enter adds a ring that has a head; in the order of the rings.
func (t *loserTree) enter(c *cursor) {
	t.lanes = append(t.lanes, lane{evs: c.evs[:c.n], next: c.next, c: c})
	t.live++
}

// build plays all matches.
func (t *loserTree) build() {
	n := len(t.lanes)
	if n == 0 {
		return
	}
	t.bits = bits.Len(uint(n - 1))
	t.size = 1 << t.bits
	t.far = math.MaxUint64>>t.bits - 1
	if len(t.nodes) < t.size {
		t.nodes, t.built = make([]uint64, t.size), make([]uint64, 2*t.size)
	}
	oldest := event.MaxTime
	for i := range t.lanes {
		if l := &t.lanes[i]; l.next < len(l.evs) {
			oldest = min(oldest, max(l.evs[l.next].Time, 0))
		}
	}
	// A record out of order that is not later than base takes part as if it
	// were of that time: all other heads are later, so it goes first anyway.
	t.base = oldest - 1
	w := t.built[:2*t.size]
	for i := range t.size {
		w[t.size+i] = none
		if i < n {
			w[t.size+i] = t.head(uint64(i))
		}
	}
	for p := t.size - 1; p > 0; p-- {
		w[p], t.nodes[p] = min(w[2*p], w[2*p+1]), max(w[2*p], w[2*p+1])
	}
	t.winner = w[1]
	t.limitTo(t.limit)
}

// head is the head of a leaf; its second is fetched.
func (t *loserTree) head(leaf uint64) uint64 {
	l := &t.lanes[leaf]
	l.second = t.key(l, 1, leaf)
	return t.key(l, 0, leaf)
}

// key is the head for the record n places ahead.
func (t *loserTree) key(l *lane, more int, leaf uint64) uint64 {
	if i := l.next + more; i < len(l.evs) {
		return min(uint64(max(l.evs[i].Time, t.base)-t.base), t.far)<<t.bits | leaf
	}
	return none
}

// limitTo says up to which time heads may go.
func (t *loserTree) limitTo(limit event.Time) {
	t.limit, t.stop = limit, 0
	if limit >= t.base {
		t.stop = (min(uint64(limit-t.base), t.far-1) + 1) << t.bits
	}
}

// stopped reports that the oldest head is later than the limit.
func (t *loserTree) stopped() bool {
	if t.winner < t.stop {
		return false
	}
	if t.winner>>t.bits == t.far {
		t.build()
	}
	return t.winner >= t.stop
}

// leaf returns the winner's leaf.
func (t *loserTree) leaf() uint64 { return t.winner & uint64(t.size-1) }

// until returns the time up to which the records of the winner go before those
// of any other ring, and within the limit. Of equal times the ring with the
// lower index goes first.
func (t *loserTree) until() event.Time {
	least := uint64(none)
	leaf := t.leaf()
	nodes := t.nodes
	for p := (int(leaf) + t.size) >> 1; p > 0; p >>= 1 {
		least = min(least, nodes[p])
	}
	more := least >> t.bits
	if more >= uint64(event.MaxTime)-uint64(t.base) {
		return t.limit
	}
	at := t.base + event.Time(more)
	if leaf > least&uint64(t.size-1) {
		at--
	}
	return min(at, t.limit)
}

// play lets w, the next head of the winner's ring, take part; none takes the
// ring out.
//
// Fast path: this runs for every event whose ring changes.
func (t *loserTree) play(w uint64) {
	nodes := t.nodes
	for p := (int(t.leaf()) + t.size) >> 1; p > 0; p >>= 1 {
		n := nodes[p]
		nodes[p] = max(n, w)
		w = min(n, w)
	}
	t.winner = w
}
