package dso

import (
	"container/list"

	"ppscript/runtime/event"
)

// This file bounds the memory for tables made from files, such as the functions of
// each file. There is one bound for all kinds of tables together.
//
// As long as a kind uses little memory, all its entries are kept. Beyond that, idle
// entries are dropped. An entry is idle if it was not used for a while; the while
// is as long as the time for which it was in use before, within bounds. Beyond the
// limit for all kinds, the least recently used entries are dropped, idle or not. A
// dropped entry is made again when it is needed. An entry larger than the limit is
// kept alone.
//
// A machine that compiles software runs a new program every second. Tables of
// programs from a minute ago are useless, while the tables of the C library are
// always in use. (With just a low limit, files would be read again for every
// sample if many are in use; dropping everything at once would also read them
// again.)
//
// Time is the time of the events, so that recordings behave like live runs.

// A Memory is a bound that Caches share. It is used by one goroutine.
type Memory struct {
	limit, bytes int
	used         *list.List // list of *use, the most recent first
	now          event.Time
}

// NewMemory makes a Memory with a limit in bytes.
func NewMemory(limit int) *Memory { return &Memory{limit: limit, used: list.New()} }

// Bytes is the memory of all Caches together.
func (m *Memory) Bytes() int { return m.bytes }

// use is the part of an entry of a Cache that its Memory needs.
type use struct {
	kind        *kind
	bytes       int
	first, last event.Time // times of the first and the last use
	drop        func()
}

// kind is the memory of one Cache.
type kind struct{ little, bytes int }

// room drops entries so that a number of bytes of a kind can be added.
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

// Bounds, in ns, on the time without use after which an entry is idle. It is
// the time for which the entry was in use, but at least leastIdle and at most
// mostIdle: a test program that ran for a minute will not run again.
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
	before  map[K]event.Time // time of the first use of dropped entries
	dropped uint64
}

type cached[V any] struct {
	use
	value V
	elem  *list.Element
}

// mostBefore bounds the dropped entries whose first use is remembered.
const mostBefore = 256

// NewCache makes a Cache within a Memory. Idle entries are kept while the Cache
// has at most little bytes.
func NewCache[K comparable, V any](in *Memory, little int) *Cache[K, V] {
	return &Cache[K, V]{
		in:     in,
		kind:   kind{little: little},
		at:     map[K]*cached[V]{},
		before: map[K]event.Time{},
	}
}

// Of returns an entry, for an event at a time.
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

// Hold adds an entry for a key that has none yet.
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

// Drop removes an entry that is not valid any more.
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

// Clear removes all entries.
func (c *Cache[K, V]) Clear() {
	for key := range c.at {
		c.Drop(key)
	}
	clear(c.before)
}

// Trim drops the least recently used entries until at most most are left.
func (c *Cache[K, V]) Trim(most int) {
	for e := c.in.used.Back(); e != nil && len(c.at) > most; {
		u, next := e.Value.(*use), e.Prev()
		if u.kind == &c.kind {
			u.drop()
		}
		e = next
	}
}

// Len is the number of entries, Bytes their memory in bytes.
func (c *Cache[K, V]) Len() int   { return len(c.at) }
func (c *Cache[K, V]) Bytes() int { return c.kind.bytes }

// Dropped counts the entries that were dropped since they were idle or memory
// was full.
func (c *Cache[K, V]) Dropped() uint64 { return c.dropped }
