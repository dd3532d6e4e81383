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

// This file measures the memory of the process. The pages of the program itself, and rings shared
// with the kernel, are outside of Go's heap. The rest of the bound is Go's own limit
// (GOMEMLIMIT): the closer the heap is to it, the more often Go collects garbage. Half of Go's
// part is for state, since a growing table exists twice while it is copied, and there is garbage
// too.

const (
	// measureEvery is the period in which the heap is measured while events
	// come.
	measureEvery = 20 * time.Millisecond
	// pagesEvery is the period in which the pages outside of the heap are
	// measured.
	pagesEvery = time.Second
	// textRoom is the memory, in bytes, for pages of the program that are not loaded
	// yet.
	textRoom = 4 << 20
	// minHeap is the least heap that Go needs, in bytes.
	minHeap = 12 << 20
)

// A meter has the times of the last measurements.
type meter struct {
	sample      []metrics.Sample
	last, pages time.Time
	began       bool
	before      int64 // Go's limit before Begin, which end restores
}

// liveHeap is the metric of the heap that was in use after the last garbage
// collection.
const liveHeap = "/gc/heap/live:bytes"

// Measure measures the memory if that is due. The session calls it while events come.
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

// divide sets Go's limit to the rest of the bound when other pages take a number of bytes, and
// the memory for state to a part of that.
func (b *Budget) divide(beside int64) {
	heap := b.limit - beside - textRoom
	if left, ok := b.near.least(); ok {
		// Resident pages of files do not count for a cgroup's limit, but maps of programs of the
		// kernel, which are not resident, do.
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

// Begin sets Go's memory limit until end is called. missing is the number of bytes by which
// the bound is too small for the program itself.
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

// others is the resident memory outside of Go's: pages of files, pages shared with the kernel,
// and databases.
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

// ofGo is the memory that Go has from the system.
func ofGo() int64 {
	s := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

// Default is the bound of a run if the user gives none: a quarter of the machine's memory, at
// most 2 GiB, and at most three quarters of Limit.
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

// LeastWithStacks is the memory that a run needs to name the functions of
// stacks.
const LeastWithStacks = 2 * Least

// Tight is a warning that a run may be killed with this limit on its memory; "" if the limit is
// large enough.
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

// Least is the smallest bound that can be kept. The program itself needs most of
// it.
const Least = 64 << 20

// machine is the memory of this machine in bytes; 0 if unknown.
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
