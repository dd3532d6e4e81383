// Package memory keeps the memory of a run within one bound. A session makes a Budget. Code
// that keeps state for keys, waiting events, stacks or names reserves memory from it in coarse
// amounts. If nothing is left, the code does with less: it puts new keys into one common row,
// or drops its oldest events. Such losses are counted and shown.
//
// Memory that is not reserved (names, histories, results in progress) is measured, as the
// heap in use less the reserved memory. So the sum stays within the bound.
//
// The package does not depend on the kinds of state, and its bound ends no run: state that
// finds no room is counted as evicted, and totals stay exact.
package memory

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Budget is the memory of a run. A nil Budget has no bound.
type Budget struct {
	limit  int64        // bound on the process, in bytes
	room   atomic.Int64 // part of limit for state
	used   atomic.Int64 // reserved by all parts
	beside atomic.Int64 // measured memory that no part has reserved
	short  atomic.Bool  // a share was smaller than usual
	meter  meter
	near   near

	mu    sync.Mutex
	parts []*Part
}

// minRoom is the least memory for state, without which no result is possible.
const minRoom = 1 << 20

// New makes a Budget with a limit in bytes for the process.
func New(limit int64) *Budget {
	b := &Budget{limit: limit, near: near{walls: walls("/proc/self/cgroup", "/sys/fs/cgroup")}}
	b.divide(others())
	return b
}

// Limit is the bound in bytes; 0 means none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Share returns a number of units of a size in bytes, for callers that reserve once and never
// again: as many as fit in the n-th part of the memory for state, but at least one and at most
// usual. Without a bound it is usual.
func (b *Budget) Share(n, bytes, usual int) int {
	if b == nil {
		return usual
	}
	most := int(b.room.Load() / int64(n*bytes))
	if most < usual {
		b.short.Store(true)
	}
	return max(1, min(usual, most))
}

// A Part is the reserved memory of one piece of state, such as a table. A nil Part
// has no bound. It is used by one goroutine.
type Part struct {
	budget  *Budget
	name    string
	used    int64
	refused atomic.Bool
}

// Part makes a Part for the result with a name.
func (b *Budget) Part(name string) *Part {
	if b == nil {
		return nil
	}
	p := &Part{budget: b, name: name}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts = append(b.parts, p)
	return p
}

// Hold changes the reserved memory of the part to a number of bytes. It returns false and
// changes nothing if there is not so much; then the part must not grow. Shrinking always
// succeeds.
func (p *Part) Hold(bytes int64) bool {
	if p == nil {
		return true
	}
	more := bytes - p.used
	b := p.budget
	if held := b.used.Add(more); more > 0 && held+b.beside.Load() > b.room.Load() {
		b.used.Add(-more)
		p.refused.Store(true)
		return false
	}
	p.used = bytes
	return true
}

// Must is like Hold for memory that is needed in any case; it always succeeds.
func (p *Part) Must(bytes int64) {
	if p == nil {
		return
	}
	p.budget.used.Add(bytes - p.used)
	p.used = bytes
}

// Refused lists the names of the parts for which Hold returned false.
func (b *Budget) Refused() (names []string) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.parts {
		if p.refused.Load() && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

// Short reports that some share was smaller than usual.
func (b *Budget) Short() bool { return b != nil && b.short.Load() }
