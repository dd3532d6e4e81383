package order

import "ppscript/runtime/event"

// A block has decoded records of one ring. Decoding several records at a time
// makes many rings affordable: neighbours share cache lines, while a switch of
// rings for every record would miss the cache each time.
type block struct {
	evs     []event.Event
	windows []window // of the Lost records in evs
}

// blocks holds the free blocks. The last one freed is taken first, since it is still
// in the cache.
type blocks struct {
	size  int // records of a block
	free  []*block
	spent []*block // handed out; the sink may still use them
}

// Each ring of a merge has a block; the more rings, the smaller the blocks.
const (
	allRecords = 2048
	minBlock   = 16
	maxBlock   = 64
	// Behind a loss one more record is read, since its time is the end of the
	// loss.
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

// spend takes away the block of c, whose records have all been handed out.
func (b *blocks) spend(c *cursor) {
	b.spent = append(b.spent, c.block)
	c.block, c.evs, c.next, c.n = nil, nil, 0, 0
}

// reuse frees the blocks that the sink has finished with.
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
