package order

import (
	"math"
	"math/bits"

	"ppscript/runtime/event"
)

// A tournament finds the ring with the oldest head. Its leaves are rings in the
// order of their indexes; every inner node keeps the loser of its match, and
// the winner of all is beside the tree. A new head of the winner is played up
// its path, with one comparison a level.
//
// With hundreds of rings whose events interleave, a comparison goes either way
// and a branch would be mispredicted half of the time, which costs more than
// all the rest: play selects with masks instead.
type tournament struct {
	nodes   []head // 1 is the root; 0 is unused
	cursors []*cursor
	size    int // of the leaves, a power of two
	live    int // leaves that have a head
	winner  head
	built   []head // where build plays
}

// A head is the time of a ring's next record and the ring's leaf. A ring
// without one has the greatest time.
type head struct {
	time event.Time
	leaf int
}

// reset empties the tournament.
func (t *tournament) reset() {
	t.cursors = t.cursors[:0]
	t.live = 0
}

// enter adds a ring that has a head; in the order of the rings.
func (t *tournament) enter(c *cursor) {
	t.cursors = append(t.cursors, c)
	t.live++
}

// build plays all matches.
func (t *tournament) build() {
	n := len(t.cursors)
	if n == 0 {
		return
	}
	t.size = 1 << bits.Len(uint(n-1))
	if len(t.nodes) < t.size {
		t.nodes, t.built = make([]head, t.size), make([]head, 2*t.size)
	}
	w := t.built
	for i := range t.size {
		w[t.size+i] = head{math.MaxInt64, i}
		if i < n {
			w[t.size+i].time = t.cursors[i].head()
		}
	}
	for p := t.size - 1; p > 0; p-- {
		left, right := w[2*p], w[2*p+1]
		if right.time < left.time {
			left, right = right, left
		}
		w[p], t.nodes[p] = left, right
	}
	t.winner = w[1]
}

// top returns the ring with the oldest head.
func (t *tournament) top() *cursor { return t.cursors[t.winner.leaf] }

// until returns the time up to which the records of the winner go before those
// of any other ring. Of equal times the ring with the lower index goes first.
func (t *tournament) until() event.Time {
	least := event.Time(math.MaxInt64)
	for p := t.winner.leaf + t.size; p > 1; p >>= 1 {
		// A ring on the left of its match wins a draw.
		least = min(least, t.nodes[p>>1].time-event.Time(p&1))
	}
	return least
}

// play puts in the next head of the winner, or takes its ring out if it has
// none.
//
// Fast path: this runs for every change of the ring.
func (t *tournament) play(c *cursor) {
	w := head{math.MaxInt64, t.winner.leaf}
	if c.next < c.n {
		w.time = c.head()
	} else {
		t.live--
	}
	nodes := t.nodes
	for p := w.leaf + t.size; p > 1; p >>= 1 {
		n := &nodes[p>>1]
		// All ones if the other wins: it is older, or equal and on the
		// left. Times are not negative, so this does not overflow.
		other := int64(n.time-w.time-event.Time(p&1)) >> 63
		time := (int64(n.time) ^ int64(w.time)) & other
		leaf := (n.leaf ^ w.leaf) & int(other)
		n.time ^= event.Time(time)
		n.leaf ^= leaf
		w.time ^= event.Time(time)
		w.leaf ^= leaf
	}
	t.winner = w
}
