package key

import "math/bits"

// Ints maps 64-bit keys to rows: open addressing with linear probing, at most
// half full; deletion shifts back, so there are no tombstones and a table that
// lives for months does not degrade.
type Ints struct {
	slots []intSlot
	shift uint
	count int
	limit int
	most  int // number of keys at which the table asks for more memory; the limit if it has no bound
	room  room
	free  []int32
	rows  int32

	// The key of the last hit: events come in runs of one key.
	lastKey int64
	lastRow int32
}

type intSlot struct {
	key int64
	row int32 // row+1; 0 is an empty slot
}

// NewInts returns a table for at most limit keys; 0 means DefaultLimit.
func NewInts(limit int) *Ints {
	if limit <= 0 {
		limit = DefaultLimit
	}
	t := &Ints{limit: limit, most: limit}
	t.alloc(64)
	return t
}

func (t *Ints) alloc(n int) {
	t.slots = Huge(make([]intSlot, n))
	t.shift = uint(64 - bits.TrailingZeros(uint(n)))
	t.lastRow = None
}

// hash spreads keys that differ in few bits (ids, page addresses) over the
// table: Fibonacci hashing on the folded key.
func (t *Ints) hash(k int64) uint64 {
	h := uint64(k) ^ uint64(k)>>32
	return h * 0x9E3779B97F4A7C15 >> t.shift
}

// Len is the number of keys; rows are below Rows.
func (t *Ints) Len() int  { return t.count }
func (t *Ints) Rows() int { return int(t.rows) }

// Find returns the row of k, or None.
func (t *Ints) Find(k int64) int32 {
	if k == t.lastKey && t.lastRow >= 0 {
		return t.lastRow
	}
	mask := uint64(len(t.slots) - 1)
	for i := t.hash(k); ; i = (i + 1) & mask {
		s := &t.slots[i&mask]
		if s.row == 0 {
			return None
		}
		if s.key == k {
			t.lastKey, t.lastRow = k, s.row-1
			return s.row - 1
		}
	}
}

// Large reports that the table does not fit the second-level cache: a look-up
// waits for memory then.
func (t *Ints) Large() bool { return len(t.slots) > 1<<15 }

// Touch loads the places where keys would be, all at once: a caller that touches a batch
// of keys before finding them waits for memory once instead of each time. The result
// only keeps the compiler from removing the loads.
func (t *Ints) Touch(keys []int64) (sum int32) {
	for _, k := range keys {
		sum += t.slots[t.hash(k)].row
	}
	return sum
}

// FindAll sets rows[i] to the row of keys[i], or None. It is faster than Find
// for each where the table is larger than the caches: the first pass has the
// memory of many slots on its way at once, which Find, one after the other,
// waits for each time.
func (t *Ints) FindAll(keys []int64, rows []int32) {
	rows = rows[:len(keys)]
	for i, k := range keys {
		rows[i] = t.slots[t.hash(k)].row
	}
	for i, k := range keys {
		rows[i] = t.Find(k)
	}
}

// Insert returns the row of k and whether it is new; None if the table is at
// its limit.
func (t *Ints) Insert(k int64) (row int32, fresh bool) {
	if row = t.Find(k); row >= 0 {
		return row, false
	}
	if t.count >= t.most {
		if t.most = t.room.more(t.count, t.limit, 0); t.count >= t.most {
			return None, false
		}
	}
	if 2*(t.count+1) > len(t.slots) {
		t.grow()
	}
	if n := len(t.free); n > 0 {
		row, t.free = t.free[n-1], t.free[:n-1]
	} else {
		row = t.rows
		t.rows++
	}
	t.put(k, row)
	t.count++
	t.lastKey, t.lastRow = k, row
	return row, true
}

func (t *Ints) put(k int64, row int32) {
	mask := uint64(len(t.slots) - 1)
	i := t.hash(k)
	for t.slots[i].row != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = intSlot{k, row + 1}
}

func (t *Ints) grow() {
	old := t.slots
	t.alloc(2 * len(old))
	for _, s := range old {
		if s.row != 0 {
			t.put(s.key, s.row-1)
		}
	}
}

// Delete removes k and returns the row it had, or None. The row will be given
// to another key.
func (t *Ints) Delete(k int64) int32 {
	mask := uint64(len(t.slots) - 1)
	i := t.hash(k)
	for ; ; i = (i + 1) & mask {
		if t.slots[i].row == 0 {
			return None
		}
		if t.slots[i].key == k {
			break
		}
	}
	row := t.slots[i].row - 1
	// Close the gap: move back every follower that may not stand behind it.
	for j := (i + 1) & mask; t.slots[j].row != 0; j = (j + 1) & mask {
		home := t.hash(t.slots[j].key)
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = intSlot{}
	t.count--
	t.free = append(t.free, row)
	t.lastRow = None
	return row
}

// Each calls fn for every key, in no particular order. fn must not change the
// table.
func (t *Ints) Each(fn func(k int64, row int32)) {
	for i := range t.slots {
		if s := &t.slots[i]; s.row != 0 {
			fn(s.key, s.row-1)
		}
	}
}

// Reset removes all keys and keeps the capacity.
func (t *Ints) Reset() {
	clear(t.slots)
	t.count, t.rows, t.free, t.lastRow = 0, 0, t.free[:0], None
}
