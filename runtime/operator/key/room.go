package key

import "ppscript/runtime/system/memory"

// A room is the number of keys that a table may have. If it has a part of the run's memory, it
// asks for more as it grows, an eighth of its size at a time.
type room struct {
	part *memory.Part // nil: only the limit counts
	row  int          // bytes of each key, with what the owner keeps for it
}

// leastKeys is the number of keys that every table may have, whatever the
// memory.
const leastKeys = 64

// The bytes of a key in a table: of the slots between a half and a quarter are in use, and of
// what grows by doubling a half may be spare.
const (
	intBytes  = 3 * 16
	textBytes = 3*8 + 2*24 + 16
)

// Bound makes the table ask part before it grows. row is the number of bytes that the owner
// keeps for each key. A refused table asks again later.
func (t *Ints) Bound(part *memory.Part, row int) { t.room.bound(part, row+intBytes, &t.most, t.limit) }

// Bound returns the bound of Ints.
func (t *Texts) Bound(part *memory.Part, row int) {
	t.room.bound(part, row+textBytes, &t.most, t.limit)
}

func (r *room) bound(part *memory.Part, row int, most *int, limit int) {
	if part == nil {
		return
	}
	r.part, r.row = part, row
	*most = min(leastKeys, limit)
	part.Must(int64(*most * row))
}

// more asks for memory for a table that has reached its bound, and returns the new bound. text
// is the size of all texts of keys in bytes.
//
// Slow path: once for many keys, or for each that is refused.
func (r *room) more(count, limit, text int) int {
	if count >= limit {
		return count
	}
	next := min(limit, count+max(leastKeys, count/8))
	bytes := int64(next*r.row) + int64(text)*int64(next)/int64(max(1, count))*5/4
	if r.part.Hold(bytes) {
		return next
	}
	return count
}
