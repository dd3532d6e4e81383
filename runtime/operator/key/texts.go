package key

import "math/bits"

// Texts maps keys of any bytes (strings, several columns behind each other)
// to rows. The key bytes of a row are kept and can be read back.
type Texts struct {
	seed  seed
	slots []textSlot
	shift uint
	count int
	limit int
	most  int // number of keys at which the table asks for more memory; the limit if it has no bound
	room  room
	bytes int // of the keys
	free  []int32
	keys  [][]byte // by row; buffers of freed rows are used again
	last  int32    // the row of the last key; events come in runs of one key
}

type textSlot struct {
	hash uint32
	row  int32 // row+1; 0 is an empty slot
}

// NewTexts returns a table for at most limit keys; 0 means DefaultLimit.
func NewTexts(limit int) *Texts {
	if limit <= 0 {
		limit = DefaultLimit
	}
	t := &Texts{seed: newSeed(), limit: limit, most: limit, last: None}
	t.alloc(64)
	return t
}

func (t *Texts) alloc(n int) {
	t.slots = Huge(make([]textSlot, n))
	t.shift = uint(32 - bits.TrailingZeros(uint(n)))
}

func (t *Texts) hash(k []byte) uint32 { return t.seed.hash(k) }

// Len is the number of keys.
func (t *Texts) Len() int { return t.count }

// Key returns the key of a row, as a view that lives until the row is freed.
func (t *Texts) Key(row int32) []byte { return t.keys[row] }

// Find returns the row of k, or None.
func (t *Texts) Find(k []byte) int32 {
	row, _ := t.find(k, t.hash(k))
	return row
}

func (t *Texts) find(k []byte, h uint32) (row int32, at uint32) {
	mask := uint32(len(t.slots) - 1)
	for i := h >> t.shift; ; i = (i + 1) & mask {
		s := &t.slots[i&mask]
		if s.row == 0 {
			return None, i & mask
		}
		if s.hash == h && string(t.keys[s.row-1]) == string(k) {
			return s.row - 1, i & mask
		}
	}
}

// Insert returns the row of k and whether it is new; None if the table is at
// its limit. The bytes are copied.
func (t *Texts) Insert(k []byte) (row int32, fresh bool) {
	if t.last >= 0 && string(t.keys[t.last]) == string(k) {
		return t.last, false
	}
	h := t.hash(k)
	row, at := t.find(k, h)
	if row >= 0 {
		t.last = row
		return row, false
	}
	if t.count >= t.most {
		if t.most = t.room.more(t.count, t.limit, t.bytes); t.count >= t.most {
			return None, false
		}
	}
	if 2*(t.count+1) > len(t.slots) {
		t.grow()
		_, at = t.find(k, h)
	}
	if n := len(t.free); n > 0 {
		row, t.free = t.free[n-1], t.free[:n-1]
		t.keys[row] = append(t.keys[row][:0], k...)
	} else {
		row = int32(len(t.keys))
		if len(t.keys) < cap(t.keys) {
			t.keys = t.keys[:row+1]
			t.keys[row] = append(t.keys[row][:0], k...)
		} else {
			t.keys = append(t.keys, append([]byte(nil), k...))
		}
	}
	t.slots[at] = textSlot{h, row + 1}
	t.bytes += len(k)
	t.count++
	t.last = row
	return row, true
}

// Last returns the row of the last inserted key if that key is a prefix of skip
// bytes and then k; else None. The prefix must depend on the length of k only.
func (t *Texts) Last(skip int, k []byte) int32 {
	if t.last >= 0 && string(t.keys[t.last][skip:]) == string(k) {
		return t.last
	}
	return None
}

func (t *Texts) grow() {
	old := t.slots
	t.alloc(2 * len(old))
	mask := uint32(len(t.slots) - 1)
	for _, s := range old {
		if s.row == 0 {
			continue
		}
		i := s.hash >> t.shift
		for t.slots[i&mask].row != 0 {
			i = (i + 1) & mask
		}
		t.slots[i&mask] = s
	}
}

// Delete removes k and returns the row it had, or None.
func (t *Texts) Delete(k []byte) int32 {
	row, i := t.find(k, t.hash(k))
	if row < 0 {
		return None
	}
	mask := uint32(len(t.slots) - 1)
	for j := (i + 1) & mask; t.slots[j].row != 0; j = (j + 1) & mask {
		home := t.slots[j].hash >> t.shift & mask
		if (j-home)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = textSlot{}
	t.bytes -= len(t.keys[row])
	t.count--
	t.free = append(t.free, row)
	t.last = None
	return row
}

// Each calls fn for every key, in no particular order.
func (t *Texts) Each(fn func(k []byte, row int32)) {
	for i := range t.slots {
		if s := &t.slots[i]; s.row != 0 {
			fn(t.keys[s.row-1], s.row-1)
		}
	}
}

// Reset removes all keys and keeps the capacity.
func (t *Texts) Reset() {
	clear(t.slots)
	t.count, t.bytes, t.keys, t.free, t.last = 0, 0, t.keys[:0], t.free[:0], None
}
