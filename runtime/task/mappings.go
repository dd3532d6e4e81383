package task

import (
	"encoding/hex"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/object"
	"ppscript/runtime/perf"
)

// This file follows what code is mapped where, in each process over time. A
// process is a list of address spaces, one after another: the first comes from
// its parent or from /proc, each exec begins a new one, and a number that is
// used again begins the next. A space is the mappings that it has now, sorted,
// and those that something else replaced.
//
// The tempting way, to read /proc/PID/maps when an address has to be named,
// finds nothing of a process that lived for a millisecond, and the wrong file
// after an exec.

// MappingsOptions are for NewMappings. The zero value is for a live run.
type MappingsOptions struct {
	// NoProc keeps it from /proc, for recordings.
	NoProc bool
	Proc   string // "/proc" if empty
	// Files finds the files; if nil it is made, and owned by the Mappings.
	Files *object.Store
	// MaxSpaces bounds the address spaces; 0 is 65536. Beyond it those of
	// the processes that ended first are given up.
	MaxSpaces int
}

// MappingsStats counts what a Mappings did.
type MappingsStats struct {
	Spaces    int    // address spaces held now
	Evicted   uint64 // given up to stay in the bound
	Replaced  uint64 // old mappings forgotten: a space keeps only the last of them
	ProcReads uint64
}

// A Region is one mapping of code.
type Region struct {
	Start, End uint64 // [Start, End)
	Off        uint64 // file offset of Start, in bytes
	Name       string // as the kernel tells: a path, "[vdso]", "//anon"
	File       *object.File
	From       event.Time // mapped since; 0 if it was there before
	until      event.Time // of a replaced one
}

// Offset is the file offset of an address in the region.
func (r *Region) Offset(addr uint64) uint64 { return addr - r.Start + r.Off }

// A Space is one address space of a process.
type Space struct {
	PID int32 // as we see it
	// InnerPID is the number of the process in its own namespace, by which
	// JIT compilers name their files; PID if not known.
	InnerPID int32
	Root     *object.Root // nil is ours
	UID      int64        // effective user; -1 if not known
	From     event.Time

	regions []Region // now, by Start, without overlap
	old     []Region // replaced, in the order of replacement
	shared  bool     // regions and old belong to another space too
	looked  bool     // at /proc
	ended   bool
}

// maxOld bounds the replaced regions of a space, maxRegions those it has.
const (
	maxOld     = 4096
	maxRegions = 1 << 17
)

// Mappings is the code of all processes. It is used by one goroutine.
type Mappings struct {
	opt   MappingsOptions
	files *object.Store
	procs map[int32][]*Space // by time, never empty
	count int
	dead  []int32 // processes that ended, the first ended first
	stats MappingsStats
	last  *Space // that Find found last
}

// NewMappings makes an empty Mappings.
func NewMappings(o MappingsOptions) *Mappings {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.MaxSpaces <= 0 {
		o.MaxSpaces = 65536
	}
	if o.Files == nil {
		o.Files = object.NewStore(object.Options{NoProc: o.NoProc, Proc: o.Proc})
	}
	return &Mappings{opt: o, files: o.Files, procs: map[int32][]*Space{}}
}

// Files is the store that files come from.
func (m *Mappings) Files() *object.Store { return m.files }

// Stats tells what the Mappings did so far.
func (m *Mappings) Stats() MappingsStats {
	m.stats.Spaces = m.count
	return m.stats
}

// Close closes the files.
func (m *Mappings) Close() error { return m.files.Close() }

// Record takes in a mmap, comm, fork or exit record; others change nothing.
// Records are expected in time order; a late one is put where it belongs as
// far as that can be told.
func (m *Mappings) Record(e *event.Event) {
	switch e.Kind {
	case event.Mmap:
		if r, ok := perf.DecodeMmap(e); ok && !r.Kernel {
			m.Map(&r, e.Time)
		}
	case event.Comm:
		if c, ok := perf.DecodeComm(e); ok && c.Exec {
			m.Exec(c.PID, e.Time)
		}
	case event.Fork:
		if f, ok := perf.DecodeFork(e); ok && f.PID != f.PPID {
			m.Fork(f.PID, f.PPID, f.Time)
		}
	case event.Exit:
		if x, ok := perf.DecodeExit(e); ok && x.PID == x.TID {
			m.Exit(x.PID)
		}
	}
}

// Map says that a process mapped a file or memory. Only code counts.
func (m *Mappings) Map(r *perf.Mapping, when event.Time) {
	if r.Data || r.PID <= 0 || r.Len == 0 || r.Addr+r.Len < r.Addr {
		return
	}
	s := m.space(r.PID, when)
	region := Region{Start: r.Addr, End: r.Addr + r.Len, Off: r.Pgoff, Name: r.Name, From: when}
	region.File = m.file(s, &region, object.ID{Maj: r.Maj, Min: r.Min, Ino: r.Ino, Gen: r.InoGen}, hex.EncodeToString(r.BuildID))
	m.add(s, region)
}

func (m *Mappings) file(s *Space, r *Region, id object.ID, build string) *object.File {
	if r.Name == "[vdso]" {
		return m.files.VDSO()
	}
	if id.Ino == 0 {
		id = object.ID{}
	}
	// Records have the generation of the inode, /proc/PID/maps has not.
	id.Gen = 0
	return m.files.Find(object.Mapping{PID: s.PID, Start: r.Start, End: r.End, Path: r.Name, ID: id, BuildID: build, Root: s.Root})
}

// Fork says that child began as a copy of parent.
func (m *Mappings) Fork(child, parent int32, when event.Time) {
	if child <= 0 {
		return
	}
	if list := m.procs[child]; len(list) > 0 && list[len(list)-1].From == when && when != 0 {
		return // told twice
	}
	p := m.at(parent, when)
	if p == nil && !m.opt.NoProc && parent > 0 {
		p = m.space(parent, when)
	}
	s := &Space{PID: child, InnerPID: child, UID: -1, From: when}
	if p != nil {
		p.shared = true
		s.regions, s.old, s.shared = p.regions, p.old, true
		s.Root, s.UID = p.Root, p.UID
	}
	m.identify(s)
	m.push(s)
}

// Exec says that a process began another program: nothing is mapped.
func (m *Mappings) Exec(pid int32, when event.Time) {
	if pid <= 0 {
		return
	}
	s := &Space{PID: pid, InnerPID: pid, UID: -1, From: when}
	if before := m.at(pid, when); before != nil {
		s.Root, s.InnerPID, s.UID = before.Root, before.InnerPID, before.UID
	}
	m.identify(s)
	m.push(s)
}

// Exit says that a process ended. What it had mapped is kept, for addresses
// that are looked up later.
func (m *Mappings) Exit(pid int32) {
	list := m.procs[pid]
	if len(list) == 0 || list[len(list)-1].ended {
		return
	}
	list[len(list)-1].ended = true
	m.dead = append(m.dead, pid)
}

// Find returns where an address lay in a process at that time. A process that
// nothing was heard of is looked up in /proc, once. The Region is valid until
// the next call.
func (m *Mappings) Find(pid int32, addr uint64, when event.Time) (*Region, bool) {
	s := m.Space(pid, when)
	if s == nil {
		return nil, false
	}
	r, ok := s.Find(addr, when)
	if !ok && !s.looked && s == m.procs[pid][len(m.procs[pid])-1] {
		// Slow path: a record was lost, or came before there was a reader.
		m.look(s)
		r, ok = s.Find(addr, when)
	}
	return r, ok
}

// Space returns the address space of a process at that time, nil if there is
// nothing to know.
//
// Fast path: the space that was asked for last is asked for again.
func (m *Mappings) Space(pid int32, when event.Time) *Space {
	if pid <= 0 {
		return nil
	}
	if s := m.last; s != nil && s.PID == pid {
		if list := m.procs[pid]; list[len(list)-1] == s && when >= s.From {
			return s
		}
	}
	s := m.at(pid, when)
	if s == nil {
		s = m.space(pid, when)
	}
	m.last = s
	return s
}

// at is the space that the process had at that time; before its first, the
// first. Nil if nothing was heard of it.
func (m *Mappings) at(pid int32, when event.Time) *Space {
	list := m.procs[pid]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].From <= when {
			return list[i]
		}
	}
	if len(list) > 0 {
		return list[0]
	}
	return nil
}

// space is at, with a new space from /proc for a process that is not known.
func (m *Mappings) space(pid int32, when event.Time) *Space {
	if s := m.at(pid, when); s != nil {
		return s
	}
	s := &Space{PID: pid, InnerPID: pid, UID: -1}
	m.identify(s)
	m.push(s)
	m.look(s)
	return s
}

// push appends a space to those of its process.
func (m *Mappings) push(s *Space) {
	list := m.procs[s.PID]
	at := len(list)
	for at > 0 && list[at-1].From > s.From {
		at--
	}
	if at > 0 && len(list[at-1].regions) == 0 && len(list[at-1].old) == 0 && at == len(list) {
		list[at-1] = s // nothing ran in it: the fork before an exec
	} else {
		list = slices.Insert(list, at, s)
		m.count++
	}
	m.procs[s.PID] = list
	m.last = nil
	for m.count > m.opt.MaxSpaces && len(m.dead) > 0 {
		m.evict()
	}
}

// evict gives up the spaces of the process that ended first.
func (m *Mappings) evict() {
	pid := m.dead[0]
	m.dead = m.dead[1:]
	list := m.procs[pid]
	n := 0
	for n < len(list) {
		n++
		if list[n-1].ended {
			break
		}
	}
	m.count -= n
	m.stats.Evicted += uint64(n)
	if n == len(list) {
		delete(m.procs, pid)
	} else {
		m.procs[pid] = slices.Delete(list, 0, n)
	}
	m.last = nil
}

// add maps r in s; what it covers is replaced from then on.
func (m *Mappings) add(s *Space, r Region) {
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
			// Late: what is there now came after it.
			r.until = x.From
			m.retire(s, r)
			return
		}
		if x.Start == r.Start && x.End == r.End && x.Off == r.Off && x.Name == r.Name && (r.File == x.File || !openable(r.File)) {
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

func openable(f *object.File) bool { return f != nil && f.Opened() }

// insert puts back the part of a region behind one that replaced its middle.
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

// Find returns the region that an address lay in at that time.
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
	// Mapped later than the event says: clocks of rings differ a little.
	return now, now != nil
}

// Regions lists what is mapped now, by address; for the space's owner to read.
func (s *Space) Regions() []Region { return s.regions }
