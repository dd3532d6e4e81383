package object

import (
	"container/list"

	"ppscript/runtime/event"
)

// A Cache holds the tables that were made of files, such as the functions of each. As long as
// all together take little memory, everything stays. Beyond that, idle entries go: those that
// nobody asked for in a while, or, if they were in use for a short time only, in as long a time
// as that. Beyond the limit the least recently used entries go, idle or not. An entry that went
// has to be made again when it is wanted. One that is larger than the limit by itself is held
// alone.
//
// A machine that compiles runs a new program every second: the tables of those
// of a minute ago are of no use any more, while those of the C library are in
// use all the time. (A low limit alone would read files again for every sample
// where many are in use; to give up everything at once would read them again,
// too.)
//
// Time is that of the events, so that recordings are read as they were made.
type Cache[V any] struct {
	little, limit, bytes int
	at                   map[*File]*list.Element // of *cached[V]
	used                 *list.List              // the most recent first
	now                  event.Time
	before               map[*File]event.Time // of entries that went: their first use
	dropped              uint64
}

type cached[V any] struct {
	file        *File
	value       V
	bytes       int
	first, last event.Time // when it was asked for
}

// An entry that is idle for leastIdle, in ns, may go, and one for mostIdle,
// however long it was in use: tests that ran for a minute do not run again. The
// first uses of up to mostBefore entries that went are remembered.
const (
	leastIdle  = 2e9
	mostIdle   = 10e9
	mostBefore = 256
)

// NewCache makes a Cache of at most limit bytes, of which nothing goes as long
// as there are no more than little.
func NewCache[V any](little, limit int) *Cache[V] {
	return &Cache[V]{little: little, limit: limit, at: map[*File]*list.Element{}, used: list.New(), before: map[*File]event.Time{}}
}

// Of returns the entry of a file, for an event of that time.
//
// Fast path: this runs for every frame that is unwound.
func (c *Cache[V]) Of(f *File, now event.Time) (v V, ok bool) {
	e, ok := c.at[f]
	if !ok {
		return v, false
	}
	c.used.MoveToFront(e)
	x := e.Value.(*cached[V])
	c.now = max(c.now, now)
	x.last = c.now
	return x.value, true
}

// Hold takes the entry of a file that has none yet.
func (c *Cache[V]) Hold(f *File, v V, bytes int, now event.Time) {
	c.now = max(c.now, now)
	for e := c.used.Back(); e != nil && c.bytes+bytes > c.little; {
		x, next := e.Value.(*cached[V]), e.Prev()
		if c.bytes+bytes > c.limit || c.now-x.last > min(max(leastIdle, x.last-x.first), mostIdle) {
			c.drop(e)
		}
		e = next
	}
	first, known := c.before[f]
	if !known {
		first = c.now
	}
	c.at[f] = c.used.PushFront(&cached[V]{f, v, bytes, first, c.now})
	c.bytes += bytes
}

func (c *Cache[V]) drop(e *list.Element) {
	x := c.used.Remove(e).(*cached[V])
	delete(c.at, x.file)
	c.bytes -= x.bytes
	c.dropped++
	if len(c.before) >= mostBefore {
		clear(c.before)
	}
	c.before[x.file] = x.first
}

// Len is the number of entries, Bytes their memory.
func (c *Cache[V]) Len() int   { return len(c.at) }
func (c *Cache[V]) Bytes() int { return c.bytes }

// Dropped counts the entries that went.
func (c *Cache[V]) Dropped() uint64 { return c.dropped }
