package dso

import (
	"container/list"

	"ppscript/runtime/event"
)

// This file keeps the tables that were made of files, such as the functions of each,
// within one bound for all kinds of tables together.
//
// As long as a kind takes little memory, all of it stays. Beyond that, idle entries
// go: those that nobody asked for in a while, or, if they were in use for a short
// time only, in as long a time as that. Beyond the limit of all kinds the least
// recently used entries go, idle or not. An entry that went has to be made again
// when it is wanted. One that is larger than the limit by itself is held alone.
//
// A machine that compiles runs a new program every second: the tables of those
// of a minute ago are of no use any more, while those of the C library are in
// use all the time. (A low limit alone would read files again for every sample
// where many are in use; to give up everything at once would read them again,
// too.)
//
// Time is the time of the events, so that recordings are read as they were made.

// A Memory is the bound that Caches share. It is used by one goroutine.
type Memory struct {
	limit, bytes int
	used         *list.List // of *use, the most recent first
	now          event.Time
}

// NewMemory makes a bound of that many bytes.
func NewMemory(limit int) *Memory { return &Memory{limit: limit, used: list.New()} }

// Bytes is the memory of all Caches together.
func (m *Memory) Bytes() int { return m.bytes }

// use is an entry of a Cache as its Memory sees it.
type use struct {
	kind        *kind
	bytes       int
	first, last event.Time // when it was asked for
	drop        func()
}

// kind is the memory of one Cache.
type kind struct{ little, bytes int }

// room gives up the entries that have to go before so many bytes of a kind come.
func (m *Memory) room(k *kind, bytes int) {
	for e := m.used.Back(); e != nil; {
		u, next := e.Value.(*use), e.Prev()
		more := 0
		if u.kind == k {
			more = bytes
		}
		switch {
		case m.bytes+bytes > m.limit, u.kind.bytes+more > u.kind.little && m.idle(u):
			u.drop()
		}
		e = next
	}
}

// An entry that is idle for leastIdle, in ns, may go, and one for mostIdle,
// however long it was in use: tests that ran for a minute do not run again.
const (
	leastIdle = 2e9
	mostIdle  = 10e9
)

func (m *Memory) idle(u *use) bool {
	return m.now-u.last > min(max(leastIdle, u.last-u.first), mostIdle)
}

// A Cache holds one kind of tables.
type Cache[K comparable, V any] struct {
	in      *Memory
	kind    kind
	at      map[K]*cached[V]
	before  map[K]event.Time // of entries that went: their first use
	dropped uint64
}

type cached[V any] struct {
	use
	value V
	elem  *list.Element
}

// mostBefore bounds the entries that went whose first uses are remembered.
const mostBefore = 256

// NewCache makes a Cache within a Memory, of which nothing goes for being idle as
// long as there are no more than little bytes.
func NewCache[K comparable, V any](in *Memory, little int) *Cache[K, V] {
	return &Cache[K, V]{
		in:     in,
		kind:   kind{little: little},
		at:     map[K]*cached[V]{},
		before: map[K]event.Time{},
	}
}

// Of returns an entry, for an event of that time.
//
// Fast path: this runs for every frame that is unwound.
func (c *Cache[K, V]) Of(key K, now event.Time) (v V, ok bool) {
	x := c.at[key]
	if x == nil {
		return v, false
	}
	c.in.used.MoveToFront(x.elem)
	c.in.now = max(c.in.now, now)
	x.last = c.in.now
	return x.value, true
}

// Hold takes an entry of a key that has none yet.
func (c *Cache[K, V]) Hold(key K, v V, bytes int, now event.Time) {
	m := c.in
	m.now = max(m.now, now)
	m.room(&c.kind, bytes)
	first, known := c.before[key]
	if !known {
		first = m.now
	}
	x := &cached[V]{use: use{kind: &c.kind, bytes: bytes, first: first, last: m.now}, value: v}
	x.drop = func() {
		c.Drop(key)
		c.dropped++
		if len(c.before) >= mostBefore {
			clear(c.before)
		}
		c.before[key] = x.first
	}
	x.elem = m.used.PushFront(&x.use)
	c.at[key] = x
	c.kind.bytes += bytes
	m.bytes += bytes
}

// Drop gives up an entry that is not true any more.
func (c *Cache[K, V]) Drop(key K) {
	x := c.at[key]
	if x == nil {
		return
	}
	delete(c.at, key)
	c.in.used.Remove(x.elem)
	c.kind.bytes -= x.bytes
	c.in.bytes -= x.bytes
}

// Clear gives up everything.
func (c *Cache[K, V]) Clear() {
	for key := range c.at {
		c.Drop(key)
	}
	clear(c.before)
}

// Trim gives up the least recently used until there are no more than most.
func (c *Cache[K, V]) Trim(most int) {
	for e := c.in.used.Back(); e != nil && len(c.at) > most; {
		u, next := e.Value.(*use), e.Prev()
		if u.kind == &c.kind {
			u.drop()
		}
		e = next
	}
}

// Len is the number of entries, Bytes their memory.
func (c *Cache[K, V]) Len() int   { return len(c.at) }
func (c *Cache[K, V]) Bytes() int { return c.kind.bytes }

// Dropped counts the entries that were given up for want of room or use.
func (c *Cache[K, V]) Dropped() uint64 { return c.dropped }
