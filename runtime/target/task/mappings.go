package task

import (
	"encoding/hex"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/stack/dso"
)

// This file follows the mappings of code in each process over time. A process
// is a list of address spaces, one after another: the first comes from its
// parent or from /proc, each exec begins a new one, and so does a new process
// with the same number. A space has its current mappings, sorted, and the
// mappings that were replaced.
//
// The tempting way is to read /proc/PID/maps when an address has to be named.
// It finds nothing for a process that lived for a millisecond, and the wrong
// file after an exec.

// MappingsOptions are the options of NewMappings. The zero value is for a live
// run.
type MappingsOptions struct {
	// NoProc says not to read /proc, for recordings.
	NoProc bool
	Proc   string // "/proc" if empty
	// Files opens the mapped files. Close closes it, also if the caller made
	// it; nil makes a new one.
	Files *dso.Store
	// MaxEnded is the number of ended processes that keep their spaces, for
	// late events; 0 means 4096. Held processes (see Hold) do not count.
	MaxEnded int
	// MaxSpaces bounds all address spaces; 0 means 65536. Beyond it, the
	// processes that ended first lose theirs.
	MaxSpaces int
	// Ending is called when a held process ends; may be nil.
	Ending func(s *Space)
}

// MappingsStats counts the work of a Mappings.
type MappingsStats struct {
	Spaces    int    // address spaces held now
	Evicted   uint64 // dropped since a bound was reached
	Replaced  uint64 // replaced mappings that were dropped: a space keeps only the last maxOld
	ProcReads uint64
}

// Mappings has the mapped code of all processes. It is used by one goroutine.
type Mappings struct {
	opt      MappingsOptions
	files    *dso.Store
	procs    map[int32][]*Space // by time, never empty
	count    int
	ended    []int32 // processes, the first ended first
	heldPIDs []int32 // ended processes that are held
	stats    MappingsStats
	last     *Space // the last result of Space
	// marked counts the spaces that had the marker of a jitdump, including
	// dropped ones.
	marked int
}

// NewMappings makes an empty Mappings.
func NewMappings(o MappingsOptions) *Mappings {
	if o.Proc == "" {
		o.Proc = "/proc"
	}
	if o.MaxEnded <= 0 {
		o.MaxEnded = 4096
	}
	if o.MaxSpaces <= 0 {
		o.MaxSpaces = 65536
	}
	if o.Files == nil {
		o.Files = dso.NewStore(dso.Options{NoProc: o.NoProc, Proc: o.Proc})
	}
	return &Mappings{opt: o, files: o.Files, procs: map[int32][]*Space{}}
}

// Files returns the store of the mapped files.
func (m *Mappings) Files() *dso.Store { return m.files }

// Stats returns the counts so far.
func (m *Mappings) Stats() MappingsStats {
	m.stats.Spaces = m.count
	return m.stats
}

// Close closes the files.
func (m *Mappings) Close() error { return m.files.Close() }

// Record applies a mmap, comm, fork or exit record and ignores others. Records
// are expected in time order; a late one is applied at its own time as far as
// possible.
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

// Map records that a process mapped a file or memory. Mappings of data are
// ignored.
func (m *Mappings) Map(r *perf.Mapping, when event.Time) {
	if r.Data || r.PID <= 0 || r.Len == 0 || r.Addr+r.Len < r.Addr {
		return
	}
	s := m.space(r.PID, when)
	region := Region{Start: r.Addr, End: r.Addr + r.Len, Off: r.Pgoff, Name: r.Name, From: when}
	region.File = m.file(s, &region, dso.ID{Maj: r.Maj, Min: r.Min, Ino: r.Ino, Gen: r.InoGen},
		hex.EncodeToString(r.BuildID))
	if region.File != nil && region.File.Path == region.Name {
		region.Name = region.File.Path // one text for all processes
	}
	m.add(s, region)
}

func (m *Mappings) file(s *Space, r *Region, id dso.ID, build string) *dso.File {
	if r.Name == "[vdso]" {
		return m.files.VDSO()
	}
	if id.Ino == 0 {
		id = dso.ID{}
	}
	// Records have the generation of the inode, /proc/PID/maps does not.
	id.Gen = 0
	f := m.files.Find(dso.Mapping{
		PID: s.PID, Start: r.Start, End: r.End, Path: r.Name, ID: id, BuildID: build, Root: s.Root,
	})
	f.Mapped(r.Off, r.End-r.Start)
	return f
}

// Fork records that child began as a copy of parent.
func (m *Mappings) Fork(child, parent int32, when event.Time) {
	if child <= 0 {
		return
	}
	if list := m.procs[child]; len(list) > 0 && list[len(list)-1].From == when && when != 0 {
		return // reported twice
	}
	p := m.at(parent, when)
	if p == nil && !m.opt.NoProc && parent > 0 {
		p = m.space(parent, when)
	}
	s := &Space{PID: child, InnerPID: child, UID: -1, From: when}
	plain := false
	if p != nil {
		p.shared = true
		s.regions, s.old, s.shared = p.regions, p.old, true
		s.Root, s.UID, s.marked = p.Root, p.UID, p.marked
		plain = p.Root.Own() && p.InnerPID == p.PID
	}
	if !plain {
		// Slow path: three files of /proc. A child of a process outside of
		// containers is outside too, until an exec.
		m.identify(s)
	}
	m.push(s)
}

// Exec records that a process began another program: nothing is mapped yet.
func (m *Mappings) Exec(pid int32, when event.Time) {
	if pid <= 0 {
		return
	}
	s := &Space{PID: pid, InnerPID: pid, UID: -1, From: when, exec: true}
	if before := m.at(pid, when); before != nil {
		s.Root, s.InnerPID, s.UID = before.Root, before.InnerPID, before.UID
		if before.From < when {
			before.Until = when
		}
		if m.opt.Ending != nil && before.held {
			m.opt.Ending(before)
		}
	}
	m.identify(s)
	m.push(s)
}

// Exit records that a process ended. Its mappings are kept for later look-ups
// until MaxEnded others have ended, and as long as it is held.
func (m *Mappings) Exit(pid int32) {
	list := m.procs[pid]
	if len(list) == 0 || list[len(list)-1].ended {
		return
	}
	last := list[len(list)-1]
	last.ended = true
	if m.opt.Ending != nil && last.held {
		m.opt.Ending(last)
	}
	m.ended = append(m.ended, pid)
	for len(m.ended) > m.opt.MaxEnded {
		first := m.ended[0]
		m.ended = m.ended[1:]
		if m.isHeld(first) {
			m.heldPIDs = append(m.heldPIDs, first)
		} else {
			m.evict(first)
		}
	}
}

// Hold keeps the space that a process has at a time until Release, because
// addresses in it have to be named later. It reads /proc while the process runs.
// It returns the space if it was not held before, else nil.
func (m *Mappings) Hold(pid int32, when event.Time) *Space {
	s := m.Space(pid, when)
	if s == nil || s.held {
		return nil
	}
	s.held = true
	return s
}

// Release ends all holds; again may hold some processes anew.
func (m *Mappings) Release(again func()) {
	for _, list := range m.procs {
		for _, s := range list {
			s.held = false
		}
	}
	again()
	kept := m.heldPIDs[:0]
	for _, pid := range m.heldPIDs {
		if m.isHeld(pid) {
			kept = append(kept, pid)
		} else {
			m.evict(pid)
		}
	}
	m.heldPIDs = kept
}

// first is the number of spaces of the oldest process with this number, 0 if
// that process has not ended.
func first(list []*Space) int {
	return 1 + slices.IndexFunc(list, func(s *Space) bool { return s.ended })
}

func (m *Mappings) isHeld(pid int32) bool {
	list := m.procs[pid]
	return slices.ContainsFunc(list[:first(list)], func(s *Space) bool { return s.held })
}

// Find returns the region of an address in a process at a time. A process
// without records is looked up in /proc once. The Region is valid until the
// next call.
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
	if !ok {
		r, ok = m.before(s, addr, when)
	}
	return r, ok
}

// execTime is the longest duration of an exec, in ns. During that time the user
// part of a stack is still the call to execve, in the previous program.
const execTime = 10e6

func (m *Mappings) before(s *Space, addr uint64, when event.Time) (*Region, bool) {
	if !s.exec || when < s.From || when-s.From > execTime {
		return nil, false
	}
	list := m.procs[s.PID]
	i := slices.Index(list, s)
	if i <= 0 {
		return nil, false
	}
	return list[i-1].Find(addr, s.From)
}

// Space returns the address space of a process at a time, nil if it is unknown.
//
// Fast path: the same space as in the last call.
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

// at returns the space of a process at a time; its first space for earlier
// times. It is nil for a process without records.
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

// space is like at, but makes a space from /proc for an unknown process.
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

// push appends a space to the list of its process.
func (m *Mappings) push(s *Space) {
	list := m.procs[s.PID]
	at := len(list)
	for at > 0 && list[at-1].From > s.From {
		at--
	}
	if at > 0 && len(list[at-1].regions) == 0 && len(list[at-1].old) == 0 && at == len(list) {
		list[at-1] = s // an exec at the time of the fork: the space was never used
	} else {
		list = slices.Insert(list, at, s)
		m.count++
	}
	m.procs[s.PID] = list
	m.last = nil
	for _, queue := range []*[]int32{&m.heldPIDs, &m.ended} {
		for m.count > m.opt.MaxSpaces && len(*queue) > 0 {
			m.evict((*queue)[0])
			*queue = (*queue)[1:]
		}
	}
	if m.count > 2*m.opt.MaxSpaces {
		m.sweep(s)
	}
}

// sweep drops spaces when exits were not reported: first spaces that an exec
// replaced, then any.
func (m *Mappings) sweep(keep *Space) {
	for pid, list := range m.procs {
		last := list[len(list)-1]
		m.procs[pid] = []*Space{last}
		m.count -= len(list) - 1
		m.stats.Evicted += uint64(len(list) - 1)
	}
	for pid := range m.procs {
		if m.count <= m.opt.MaxSpaces {
			break
		}
		if pid != keep.PID {
			delete(m.procs, pid)
			m.count--
			m.stats.Evicted++
		}
	}
	m.ended, m.heldPIDs = nil, nil
}

// evict drops the spaces of the oldest process with this number.
func (m *Mappings) evict(pid int32) {
	list := m.procs[pid]
	n := first(list)
	m.count -= n
	m.stats.Evicted += uint64(n)
	if n == len(list) {
		delete(m.procs, pid)
	} else {
		m.procs[pid] = slices.Delete(list, 0, n)
	}
	m.last = nil
}
