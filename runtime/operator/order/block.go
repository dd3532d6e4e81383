package order

import "ppscript/runtime/event"

// A block is records of one ring, decoded one after the other. Reading a few at
// a time makes many rings affordable: neighbours come into the cache together,
// while the same records in the order of time would each be waited for.
type block struct {
	evs     []event.Event
	windows []window // of the Lost records in evs
}

// blocks are the free blocks, which no cursor has. The one that was used last is taken
// first: it is still in the cache.
type blocks struct {
	size  int // records of a block
	free  []*block
	spent []*block // handed out, not yet sunk
}

// All rings of a merge have a block each: many rings have smaller ones.
const (
	allRecords = 2048
	minBlock   = 16
	maxBlock   = 64
	// Behind a loss there is a record more, if there is one: it tells when the
	// loss was over.
	spare = 4
)

// fit sets the size of the blocks for so many rings.
func (b *blocks) fit(rings int) {
	b.size = max(minBlock, min(maxBlock, allRecords/max(rings, 1)))
}

// read gives c a block of its next records up to until, or none if there are
// none.
func (b *blocks) read(c *cursor, until uint64) {
	var k *block
	if n := len(b.free); n > 0 {
		k, b.free = b.free[n-1], b.free[:n-1]
	} else {
		k = &block{evs: make([]event.Event, b.size+spare)}
	}
	n := c.ring.Read(k.evs[:b.size], until)
	for n > 0 && n < len(k.evs) && k.evs[n-1].Kind == event.Lost && c.ring.Read(k.evs[n:n+1], until) == 1 {
		n++
	}
	if n == 0 {
		b.free = append(b.free, k)
		return
	}
	c.lastTime = k.date(n, c.index, c.lastTime)
	c.block, c.evs, c.n = k, k.evs, n
	c.unreleased += n
}

// spend takes the block of c away, of which everything has been handed out.
func (b *blocks) spend(c *cursor) {
	b.spent = append(b.spent, c.block)
	c.block, c.evs, c.next, c.n = nil, nil, 0, 0
}

// reuse makes blocks free that have been sunk.
func (b *blocks) reuse() {
	b.free = append(b.free, b.spent...)
	b.spent = b.spent[:0]
}

// date stamps the first n records with their ring, records that have no time of
// their own with the time of the record before, and losses with their begin. The
// time of the last record before them is last; date returns the time of the last
// one.
func (b *block) date(n int, ring int32, last event.Time) event.Time {
	lost := 0
	evs := b.evs[:n]
	for i := range evs {
		e := &evs[i]
		e.Ring = ring
		if e.Kind == event.Lost {
			if lost == len(b.windows) {
				// Windows are pointed to: they do not move.
				b.windows = append(make([]window, 0, 2*lost+4), b.windows...)[:lost+1]
			}
			begin := e.LossBegin()
			b.windows[lost].put(e, evs[i+1:])
			lost++
			// A loss begins right after the record before it, unless its source
			// knows better; its own time stamp is when the kernel could write again.
			e.Time = max(last, min(begin, e.LossEnd()))
		} else if e.Time == 0 {
			// Records without a time stamp stay beside their neighbours.
			e.Time = last
		}
		last = e.Time
	}
	return last
}
