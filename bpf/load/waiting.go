package load

import (
	"fmt"
	"unsafe"
)

// This file reads what waits in joins.

// Waiting calls fn for each event that waits in a join, with its bytes, which die when fn
// returns. Others may come and go meanwhile; each is seen as a whole.
func Waiting(r *Run, join int, fn func(waits []byte)) error {
	err := r.words(WaitMap.Of(join)).walk(func(_ []byte, value []uint64) {
		fn(unsafe.Slice((*byte)(unsafe.Pointer(&value[0])), 8*len(value)))
	})
	if err != nil {
		return fmt.Errorf("read what waits in a join: %w", err)
	}
	return nil
}

// Misses is how many events programs did not see so far: whatever waits may have had its
// partner among them.
func Misses(r *Run) uint64 { return misses(r) + r.missing.sum() }
