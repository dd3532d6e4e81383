// Package memory keeps what a run holds within one bound. A session makes a Budget; code that
// keeps state for keys, waiting events, stacks or names takes from it in coarse amounts, and
// gives way when there is no more: with rows for other keys, or without its oldest events. What
// gave way is counted, and said.
//
// What nobody takes (names, histories, results on their way) is measured: the heap that is in
// use, less what was taken. So the whole stays within the bound whichever part grows.
//
// It knows nothing of what is kept; and it ends no run: state that finds no room is told as
// evicted, and totals stay exact.
package memory

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A Budget is the memory of a run. A nil Budget has no bound.
type Budget struct {
	limit  int64        // what the process may have, in bytes
	room   atomic.Int64 // of that for state
	used   atomic.Int64 // by all parts
	beside atomic.Int64 // state of which no part knows, as measured
	short  atomic.Bool  // a share was smaller than usual
	meter  meter
	near   near

	mu    sync.Mutex
	parts []*Part
}

// minRoom is for state in any case: with less nothing could be told.
const minRoom = 1 << 20

// New makes a Budget of so many bytes for the process.
func New(limit int64) *Budget {
	b := &Budget{limit: limit, near: near{walls: walls("/proc/self/cgroup", "/sys/fs/cgroup")}}
	b.divide(others())
	return b
}

// Limit is the bound in bytes; 0 is none.
func (b *Budget) Limit() int64 {
	if b == nil {
		return 0
	}
	return b.limit
}

// Share is the n-th part of the memory for state, in units of so many bytes, for callers that cannot
// ask again: at most the usual number, and one at least. It is the usual number without a bound.
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

// A Part is a piece of state. A nil Part has no bound. It is used by one goroutine.
type Part struct {
	budget  *Budget
	name    string
	used    int64
	refused atomic.Bool
}

// Part begins a piece of state, by the name of the result that it is for.
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

// Hold says that the piece is to have that many bytes now. It is false, and the piece must not
// grow, if there are not so many; to shrink is always possible.
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

// Must is Hold for what a piece cannot do without.
func (p *Part) Must(bytes int64) {
	if p == nil {
		return
	}
	p.budget.used.Add(bytes - p.used)
	p.used = bytes
}

// Refused are the names of the pieces that found no room.
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
