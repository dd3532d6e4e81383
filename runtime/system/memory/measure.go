package memory

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"

	"ppscript/runtime/text/unit"
)

// This file measures what the process has. The pages of the program itself, and rings that the
// kernel shares with it, are beside Go's heap; Go gets what is left of the bound as its own limit
// (GOMEMLIMIT), and collects garbage more often the closer it comes to that. Of Go's part a half
// is for state: a table that grows is there twice while it moves, and garbage lies beside it.

const (
	// measureEvery is how often the heap is looked at while events come.
	measureEvery = 20 * time.Millisecond
	// pagesEvery is how often the pages beside the heap are looked at.
	pagesEvery = time.Second
	// textRoom is how many bytes of the program's own pages are expected to come yet.
	textRoom = 4 << 20
	// minHeap is what Go needs in any case.
	minHeap = 12 << 20
)

// A meter is when what was measured.
type meter struct {
	sample      []metrics.Sample
	last, pages time.Time
	began       bool
	before      int64 // Go's limit before; it is put back at the end
}

// liveHeap is what the last collection of garbage left.
const liveHeap = "/gc/heap/live:bytes"

// Measure looks at what there is, if it is time to; the session calls it while events come.
func (b *Budget) Measure() {
	if b == nil {
		return
	}
	m := &b.meter
	now := time.Now()
	if now.Sub(m.last) < measureEvery {
		return
	}
	m.last = now
	if m.sample == nil {
		m.sample = []metrics.Sample{{Name: liveHeap}}
	}
	if now.Sub(m.pages) >= pagesEvery {
		m.pages = now
		b.divide(others())
	}
	metrics.Read(m.sample)
	b.beside.Store(max(0, int64(m.sample[0].Value.Uint64())-b.used.Load()))
}

// divide gives Go what is left beside so many bytes of other pages, and state its part of that.
func (b *Budget) divide(beside int64) {
	heap := b.limit - beside - textRoom
	if left, ok := b.near.least(); ok {
		// Pages of files count for no cgroup, though they are resident; maps of programs do, though they
		// are not.
		near := ofGo() + left - b.near.reserve()/2
		if b.limit >= least(b.near.walls)/4*3 {
			heap = near
		}
		heap = min(heap, near)
	}
	heap = max(minHeap, heap)
	b.room.Store(max(minRoom, heap/2))
	if b.meter.began {
		debug.SetMemoryLimit(heap)
	}
}

// Begin has Go keep to the bound until end is called. It says how much is missing for what the
// program itself needs.
func (b *Budget) Begin() (missing int64, end func()) {
	if b == nil {
		return 0, func() {}
	}
	m := &b.meter
	if os.Getenv("GOMEMLIMIT") == "" {
		m.began, m.before = true, debug.SetMemoryLimit(-1)
	}
	beside := others()
	b.divide(beside)
	b.Measure()
	return max(0, beside+textRoom+minHeap-b.limit), func() {
		if m.began {
			debug.SetMemoryLimit(m.before)
			m.began = false
		}
	}
}

// others is the resident pages that are not Go's: of files, shared with the kernel, and those of
// databases.
func others() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(text)
	if err != nil || len(fields) < 3 {
		return 0
	}
	all, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	page := int64(os.Getpagesize())
	return max(shared*page, all*page-ofGo())
}

// ofGo is the pages that Go has.
func ofGo() int64 {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// Default is the bound of a run that got none: a quarter of the machine's memory, or of what the
// process's cgroup may have three quarters if that is less; 2 GiB at most.
func Default() int64 {
	most := int64(2 << 30)
	if total := machine(); total > 0 {
		most = min(most, total/4)
	}
	if limit := Limit(); limit > 0 {
		return min(max(most, Least), limit/4*3)
	}
	return max(most, Least)
}

// LeastWithStacks is what a run needs that names the functions of stacks.
const LeastWithStacks = 2 * Least

// Tight says that a run may be killed for want of memory, where limit is what it may have; "" if it has
// enough.
func Tight(limit int64, stacks bool) string {
	need, why := int64(Least), "a run"
	if stacks {
		need, why = LeastWithStacks, "a run with stacks of programs"
	}
	if limit <= 0 || limit >= need {
		return ""
	}
	return fmt.Sprintf("memory: the cgroup, or ulimit, allows %s, and %s needs %s: it may be killed before "+
		"it has shown its results", unit.Size(limit), why, unit.Size(need))
}

// Least is the least bound that can be kept: the program itself needs most of that.
const Least = 64 << 20

// machine is the bytes of memory of this machine; 0 if it does not say.
func machine() int64 {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == "MemTotal:" {
			kib, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return kib << 10
		}
	}
	return 0
}
