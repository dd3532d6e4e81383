package load

import (
	"fmt"
	"slices"
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

// Misses is how many events of some programs these did not see so far: what waits may have
// had its partner among them. What probes missed is told for all programs together.
func Misses(r *Run, events []int) uint64 {
	return r.missing.sum() + misses(r, func(p *Program) bool {
		return slices.Contains(events, p.Event) ||
			slices.ContainsFunc(p.Places, func(place int) bool { return slices.Contains(events, place) })
	})
}
