package memory

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"

	"ppscript/runtime/unit"
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
	b.beside.Store(max(0, int64(m.sample[0].Value.Uint64())-b.held.Load()))
}

// divide gives Go what is left beside so many bytes of other pages, and state its part of that.
func (b *Budget) divide(beside int64) {
	heap := max(minHeap, b.limit-beside-textRoom)
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
	goes := []metrics.Sample{
		{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
	}
	metrics.Read(goes)
	page := int64(os.Getpagesize())
	return max(shared*page, all*page-int64(goes[0].Value.Uint64()-goes[1].Value.Uint64()))
}

// Default is the bound of a run that got none: a quarter of the machine's memory, or of what the
// process's cgroup may have three quarters if that is less; 2 GiB at most.
func Default() int64 {
	most := int64(2 << 30)
	if total := machine(); total > 0 {
		most = min(most, total/4)
	}
	if limit := Limit(); limit > 0 {
		most = min(most, limit/4*3)
	}
	return max(most, Least)
}

// Limit is what the process may have before it is killed, or gets no memory any more: by its cgroup, and by
// its resource limits; 0 is no limit.
func Limit() int64 {
	least := ofCgroup()
	for _, kind := range []int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var r syscall.Rlimit
		if syscall.Getrlimit(kind, &r) == nil && r.Cur < 1<<50 && (least == 0 || int64(r.Cur) < least) {
			least = int64(r.Cur)
		}
	}
	return least
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

// ofCgroup is the least limit of the process's cgroup and those above it; 0 is none.
func ofCgroup() int64 { return limitOf("/proc/self/cgroup", "/sys/fs/cgroup") }

// limitOf reads which cgroups a process is in, and their limits, of version 2 and 1.
func limitOf(of, root string) int64 {
	text, _ := os.ReadFile(of)
	least := int64(math.MaxInt64)
	for line := range bytes.Lines(bytes.TrimSpace(text)) {
		parts := bytes.SplitN(bytes.TrimSpace(line), []byte(":"), 3)
		if len(parts) < 3 {
			continue
		}
		dir, file := root, "/memory.max"
		switch kinds := string(parts[1]); {
		case kinds == "memory":
			dir, file = root+"/memory", "/memory.limit_in_bytes"
		case kinds != "":
			continue
		}
		path := string(parts[2])
		for {
			value, _ := os.ReadFile(dir + path + file)
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
			at := bytes.LastIndexByte([]byte(path), '/')
			if at < 0 || path == "" {
				break
			}
			path = path[:at]
		}
	}
	if least > 1<<50 { // version 1 writes a huge number for none
		return 0
	}
	return least
}
