package join

import (
	"sort"
	"unsafe"

	"ppscript/runtime/event"
)

// This file keeps the events of the recent past, so that when a pair turns
// out to be slow, the events during it can be shown.
//
// Events are copied into chunks, the newest chunk last. A chunk is freed as
// a whole once everything in it is older than all that may still be shown:
// the oldest waiting start, less the time that is wanted before it. A start
// that never finds its end would keep all chunks for ever. So their bytes
// and their age are bounded; beyond that the oldest chunk goes although it
// is needed, and is counted.

// A Timeline is filled by one Join and read by the Details behind it.
type Timeline struct {
	// LimitBytes and MaxAge bound the kept events; 0 takes the default.
	LimitBytes int
	MaxAge     int64 // ns
	// Before and After are the longest that any reader wants, in ns.
	Before, After int64

	chunks    []*tlChunk // oldest first
	pool      []*tlChunk
	bytes     int
	hand      func(e *event.Event) // gets the events; nil: they are kept
	begun     event.Time           // of the first event
	newest    event.Time
	evicted   uint64     // events that were pushed out although needed
	droppedAt event.Time // of the newest of them
	readers   []tlReader
	filled    filling
}

// A tlReader waits for events that come after a pair.
type tlReader interface {
	// due shows the pairs that are complete at t.
	due(t event.Time)
	// oldest is the start of the oldest pair that is not complete.
	oldest() (event.Time, bool)
}

const (
	// defaultTimelineBytes and defaultTimelineAge bound a Timeline.
	defaultTimelineBytes       = 64 << 20
	defaultTimelineAge   int64 = 120e9

	tlEvents = 512
	tlBytes  = 96 << 10
	tlSize   = tlBytes + tlEvents*int(unsafe.Sizeof(event.Event{}))
)

type tlChunk struct {
	evs   []event.Event // capacity tlEvents, never grown
	buf   []byte        // cap tlBytes or one large record, never grown
	first event.Time
	last  event.Time
}

func (c *tlChunk) size() int { return tlSize - tlBytes + cap(c.buf) }

// add keeps a copy of e.
//
// Fast path: this runs for every event as long as something waits.
func (t *Timeline) add(e *event.Event) {
	if t.hand != nil {
		t.hand(e)
		return
	}
	mem := e.Rec
	if len(mem) == 0 {
		mem = e.Raw
	}
	var c *tlChunk
	if n := len(t.chunks); n > 0 {
		c = t.chunks[n-1]
	}
	if c == nil || len(c.evs) == cap(c.evs) || cap(c.buf)-len(c.buf) < len(mem) {
		c = t.grow(len(mem))
	}
	if len(c.evs) == 0 {
		c.first = e.Time
		if t.begun == 0 {
			t.begun = e.Time
		}
	}
	c.last = max(c.last, e.Time)
	t.newest = max(t.newest, e.Time)
	n := len(c.evs)
	c.evs = c.evs[:n+1]
	to := &c.evs[n]
	if e.Derived != nil {
		*to = event.Event{}
		e.Keep(to) // pairs among the events are rare
		return
	}
	*to = *e
	off := len(c.buf)
	// Records stay aligned: callchains are read as 64-bit words.
	end := off + len(mem)
	c.buf = c.buf[:min((end+7)&^7, cap(c.buf))]
	kept := c.buf[off:end:end]
	copy(kept, mem)
	if len(e.Rec) == 0 {
		to.Raw = kept
		return
	}
	to.Rec = kept
	if len(e.Raw) > 0 {
		rec, raw := unsafe.SliceData(e.Rec), unsafe.SliceData(e.Raw)
		at := int(uintptr(unsafe.Pointer(raw)) - uintptr(unsafe.Pointer(rec)))
		if at >= 0 && at+len(e.Raw) <= len(kept) {
			to.Raw = kept[at : at+len(e.Raw) : at+len(e.Raw)]
		} else {
			to.Raw = append([]byte(nil), e.Raw...) // Raw is not a part of mem
		}
	}
}

// grow appends an empty chunk with room for need bytes.
func (t *Timeline) grow(need int) *tlChunk {
	var c *tlChunk
	if n := len(t.pool); n > 0 && need <= tlBytes {
		c, t.pool = t.pool[n-1], t.pool[:n-1]
	} else {
		c = &tlChunk{evs: make([]event.Event, 0, tlEvents), buf: make([]byte, 0, max(tlBytes, (need+7)&^7))}
	}
	t.chunks = append(t.chunks, c)
	t.bytes += c.size()
	for t.bytes > t.Limit() && len(t.chunks) > 1 {
		t.evict()
	}
	return c
}

// Limit is the number of bytes that may be kept.
func (t *Timeline) Limit() int {
	if t.LimitBytes > 0 {
		return t.LimitBytes
	}
	return defaultTimelineBytes
}

// evict frees the oldest chunk, although it may be needed.
func (t *Timeline) evict() {
	c := t.chunks[0]
	t.evicted += uint64(len(c.evs))
	t.droppedAt = max(t.droppedAt, c.last)
	t.drop()
}

func (t *Timeline) drop() {
	c := t.chunks[0]
	t.chunks = append(t.chunks[:0], t.chunks[1:]...)
	t.bytes -= c.size()
	if cap(c.buf) > tlBytes || len(t.pool) >= 64 {
		return
	}
	c.evs, c.buf, c.first, c.last = c.evs[:0], c.buf[:0], 0, 0
	t.pool = append(t.pool, c)
}

// release frees chunks that are older than need, or than age allows.
func (t *Timeline) release(need event.Time) {
	need = min(need, t.newest)
	for _, r := range t.readers {
		if o, ok := r.oldest(); ok {
			need = min(need, o)
		}
	}
	need -= event.Time(t.Before)
	for len(t.chunks) > 0 && t.chunks[0].last < need {
		t.drop()
	}
	age := t.MaxAge
	if age <= 0 {
		age = defaultTimelineAge
	}
	for len(t.chunks) > 1 && int64(t.newest-t.chunks[0].last) > age {
		t.evict()
	}
}

// due tells the readers how far time has come.
func (t *Timeline) due(now event.Time) {
	for _, r := range t.readers {
		r.due(now)
	}
}

// idle reports that nothing waits, so that only a future start could need an
// event.
func (t *Timeline) idle() bool {
	if t.Before > 0 || t.After > 0 || t.hand != nil {
		return false
	}
	for _, r := range t.readers {
		if _, ok := r.oldest(); ok {
			return false
		}
	}
	return true
}

// between calls fn for the events of [from, until], in the order in which
// they came, as long as it returns true.
func (t *Timeline) between(from, until event.Time, fn func(e *event.Event) bool) {
	i := sort.Search(len(t.chunks), func(i int) bool { return t.chunks[i].last >= from })
	for ; i < len(t.chunks); i++ {
		c := t.chunks[i]
		if c.first > until {
			return
		}
		for k := range c.evs {
			if e := &c.evs[k]; e.Time >= from && e.Time <= until && !fn(e) {
				return
			}
		}
	}
}

// Bytes is the memory that is in use now.
func (t *Timeline) Bytes() int { return t.bytes }
