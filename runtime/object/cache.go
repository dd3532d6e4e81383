package object

import "container/list"

// A Cache holds what was made of files, such as the functions of each, up to a
// number of bytes. Beyond it the file that was asked for least recently gives
// up what is its own, which has to be made again when it is wanted. One that is
// larger than the bound by itself is held alone.
//
// A machine that compiles runs a new program every second: what is known of
// those of an hour ago is of no use any more, while the C library is asked for
// all the time. (Giving up everything at once would read it again, too.)
type Cache[V any] struct {
	limit, bytes int
	at           map[*File]*list.Element // of *cached[V]
	used         *list.List              // the most recent first
	dropped      uint64
}

type cached[V any] struct {
	file  *File
	value V
	bytes int
}

// NewCache makes a Cache of at most limit bytes.
func NewCache[V any](limit int) *Cache[V] {
	return &Cache[V]{limit: limit, at: map[*File]*list.Element{}, used: list.New()}
}

// Of returns what is held of a file.
//
// Fast path: this runs for every frame that is unwound.
func (c *Cache[V]) Of(f *File) (v V, ok bool) {
	e, ok := c.at[f]
	if !ok {
		return v, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*cached[V]).value, true
}

// Hold takes what was made of a file that has nothing yet.
func (c *Cache[V]) Hold(f *File, v V, bytes int) {
	for c.used.Len() > 0 && c.bytes+bytes > c.limit {
		old := c.used.Remove(c.used.Back()).(*cached[V])
		delete(c.at, old.file)
		c.bytes -= old.bytes
		c.dropped++
	}
	c.at[f] = c.used.PushFront(&cached[V]{f, v, bytes})
	c.bytes += bytes
}

// Len is how many files have something, Bytes what it takes.
func (c *Cache[V]) Len() int   { return len(c.at) }
func (c *Cache[V]) Bytes() int { return c.bytes }

// Dropped counts what was given up to stay in the bound.
func (c *Cache[V]) Dropped() uint64 { return c.dropped }
