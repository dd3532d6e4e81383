package task

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/stack/dso"
	"ppscript/runtime/stack/jitdump"
)

// This file implements one address space: its current mappings, sorted, and the
// mappings that were replaced, with the times, so that addresses of older
// events are found.

// A Region is one mapping of code.
type Region struct {
	Start, End uint64 // [Start, End)
	Off        uint64 // file offset of Start, in bytes
	Name       string // as the kernel tells: a path, "[vdso]", "//anon"
	File       *dso.File
	From       event.Time // time of the mapping; 0 if it is older than the run
	until      event.Time // time at which it was replaced
}

// Offset is the file offset of an address in the region.
func (r *Region) Offset(addr uint64) uint64 { return addr - r.Start + r.Off }

// A Space is one address space of a process.
type Space struct {
	PID int32 // in our own namespace
	// InnerPID is the number of the process in its own namespace, by which
	// JIT compilers name their files; PID if not known.
	InnerPID int32
	Root     *dso.Root // nil means our own root directory
	UID      int64     // effective user; -1 if not known
	From     event.Time
	Until    event.Time // when the process executed another program; 0 if it did not

	regions []Region // current ones, sorted by Start, without overlap
	old     []Region // replaced, in the order of replacement
	shared  bool     // regions and old belong to another space too
	looked  bool     // /proc was read
	ended   bool
	held    bool // see Mappings.Hold
	exec    bool // begun by an exec, not a fork
	marked  bool // a JIT compiler has mapped its jitdump, see Marked
}

// Marked reports that s has or had the marker of a jitdump: a compiler maps its
// file of functions as a marker for profilers.
func (s *Space) Marked() bool { return s.marked }

// Marked is the number of address spaces that had the marker of a jitdump.
func (m *Mappings) Marked() int { return m.marked }

// maxOld bounds the replaced regions of a space, maxRegions the current ones.
const (
	maxOld     = 4096
	maxRegions = 1 << 17
)

// add maps r in s. Where r overlaps other mappings, it replaces them from
// r.From on.
func (m *Mappings) add(s *Space, r Region) {
	if !s.marked && jitdump.IsMarker(r.Name) {
		s.marked = true
		m.marked++
	}
	if s.shared {
		s.regions, s.old, s.shared = slices.Clone(s.regions), slices.Clone(s.old), false
	}
	lo, _ := slices.BinarySearchFunc(s.regions, r.Start, func(x Region, start uint64) int {
		if x.End <= start {
			return -1
		}
		return 1
	})
	hi := lo
	var keep [3]Region
	parts := keep[:0]
	for ; hi < len(s.regions) && s.regions[hi].Start < r.End; hi++ {
		x := s.regions[hi]
		if x.From > r.From {
			// r is late: the current mapping is newer.
			r.until = x.From
			m.retire(s, r)
			return
		}
		if x.Start == r.Start && x.End == r.End && x.Off == r.Off && x.Name == r.Name &&
			(r.File == x.File || !openable(r.File)) {
			return // known already
		}
		was := x
		was.until = r.From
		m.retire(s, was)
		if x.Start < r.Start {
			left := x
			left.End = r.Start
			parts = append(parts, left)
		}
		if x.End > r.End {
			right := x
			right.Off += r.End - x.Start
			right.Start = r.End
			defer func() { m.insert(s, right) }()
		}
	}
	if len(s.regions)-(hi-lo)+len(parts) >= maxRegions {
		m.stats.Replaced++
		return
	}
	s.regions = slices.Replace(s.regions, lo, hi, append(parts, r)...)
}

func openable(f *dso.File) bool { return f != nil && f.Opened() }

// insert adds the part of a region that is left after another region replaced
// its middle.
func (m *Mappings) insert(s *Space, r Region) {
	at, _ := slices.BinarySearchFunc(s.regions, r.Start, func(x Region, start uint64) int {
		if x.Start < start {
			return -1
		}
		return 1
	})
	s.regions = slices.Insert(s.regions, at, r)
}

func (m *Mappings) retire(s *Space, r Region) {
	if r.until <= r.From && r.until != 0 {
		return // it never was
	}
	if len(s.old) >= maxOld {
		m.stats.Replaced += maxOld / 4
		s.old = slices.Delete(s.old, 0, maxOld/4)
	}
	s.old = append(s.old, r)
}

// Find returns the region that contained an address at a time.
func (s *Space) Find(addr uint64, when event.Time) (*Region, bool) {
	lo, hi := 0, len(s.regions)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if s.regions[mid].End <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	var now *Region
	if lo < len(s.regions) && s.regions[lo].Start <= addr {
		now = &s.regions[lo]
		if now.From <= when {
			return now, true
		}
	}
	for i := len(s.old) - 1; i >= 0; i-- {
		if r := &s.old[i]; addr >= r.Start && addr < r.End && r.From <= when && when < r.until {
			return r, true
		}
	}
	// The mapping is later than the event: clocks of rings differ a little.
	return now, now != nil
}

// Regions lists the current mappings by address. The caller must not change
// them.
func (s *Space) Regions() []Region { return s.regions }
