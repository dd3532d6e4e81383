package cgroup

import (
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/privilege"
)

// most bounds the cgroups in a Table. Beyond it the oldest entries are dropped, and
// looked up again if they are needed.
const most = 1 << 14

// A Table has the cgroups of this machine by their numbers, and keeps those that are
// removed meanwhile. Several goroutines may use it.
//
// A cgroup that is made and removed during the run is found if it was reported
// (NoteNew) or asked for while it existed; otherwise its texts are "cgroup-ID".
type Table struct {
	root string // of the hierarchy; "" if there is none, as in a recording
	from int    // descriptor of root, for look-ups; -1 if there is none

	facts atomic.Pointer[map[uint64]*Facts] // replaced as a whole

	mu        sync.Mutex
	order     []uint64   // keys of facts, the oldest first
	processes *processes // nil in a recording
	// legacy says that perf_event is a hierarchy of version 1, so that
	// containers and units may be in other hierarchies.
	legacy bool
	// onNew is called for each cgroup with a container or a pod; may be nil.
	onNew func(*Facts)
}

// Open makes the Table of this machine and reads the cgroups that exist.
func Open(roots kernel.Roots) (*Table, error) {
	mounts, err := kernel.ReadMounts(roots)
	if err != nil {
		return nil, err
	}
	t := Empty()
	t.processes = &processes{proc: roots.ProcPath(), facts: map[process]*agedFacts{}}
	if t.root = mounts.PerfCgroup(); t.root == "" {
		return t, nil
	}
	t.legacy = mounts.PerfEventV1 != ""
	if t.from, err = unix.Open(t.root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		t.from = -1 // without it, look-ups walk the tree
	}
	t.scan()
	return t, nil
}

// Empty makes a Table that has only the cgroups that are reported to it, for
// recordings.
func Empty() *Table {
	t := &Table{from: -1}
	t.facts.Store(&map[uint64]*Facts{})
	return t
}

// Close closes the Table's descriptor.
func (t *Table) Close() error {
	if t.from < 0 {
		return nil
	}
	err := unix.Close(t.from)
	t.from = -1
	return err
}

// At returns the facts of the cgroup with a number; never nil.
//
// Fast path: one look into a map, without a lock.
func (t *Table) At(id uint64) *Facts {
	if f := (*t.facts.Load())[id]; f != nil {
		return f
	}
	return t.lookUp(id)
}

// Of returns the facts for a process in the cgroup with a number. With cgroups of
// version 1, they include the cgroups of the process in other hierarchies. now is in
// ns.
func (t *Table) Of(id uint64, pid int32, now int64) *Facts {
	f := t.At(id)
	if !t.legacy || pid <= 0 {
		return f
	}
	return t.processes.of(f, id, pid, now)
}

// OfProcess returns the facts of a process for samples without the number of a cgroup;
// nil if it has ended or is of another machine.
func (t *Table) OfProcess(pid int32, now int64) *Facts {
	if t.processes == nil || pid < 0 {
		return nil
	}
	f := t.processes.of(&Facts{}, 0, pid, now)
	if f.Path == "" {
		return nil
	}
	return f
}

// Announce calls see for each cgroup of a container or a pod, now for those in the
// Table and later for new ones. see must not block.
func (t *Table) Announce(see func(*Facts)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onNew = see
	for _, f := range *t.facts.Load() {
		t.announce(f)
	}
}

func (t *Table) announce(f *Facts) {
	if t.onNew != nil && !f.Unknown && (f.Container != "" || f.Pod != "") {
		t.onNew(f)
	}
}

// NoteNew records a cgroup that was made, under its number.
func (t *Table) NoteNew(id uint64, path string) {
	f := Parse(path)
	t.mu.Lock()
	t.add(map[uint64]*Facts{id: &f})
	t.mu.Unlock()
}

// lookUp finds a cgroup by its number and records it.
//
// Slow path: once for each cgroup.
func (t *Table) lookUp(id uint64) *Facts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := (*t.facts.Load())[id]; f != nil {
		return f // another goroutine was faster
	}
	f := &Facts{}
	if path, ok := t.pathOf(id); ok {
		*f = Parse(path)
	} else {
		name := "cgroup-" + strconv.FormatUint(id, 10)
		*f = Facts{Path: name, Container: name, Pod: name, Unit: name, Unknown: true}
	}
	t.add(map[uint64]*Facts{id: f})
	return f
}

// add records cgroups. The caller holds the lock.
func (t *Table) add(some map[uint64]*Facts) {
	all := maps.Clone(*t.facts.Load())
	for id, f := range some {
		if _, have := all[id]; !have {
			t.order = append(t.order, id)
		}
		all[id] = f
		t.announce(f)
	}
	if over := len(t.order) - most; over > 0 {
		over += most / 8 // so that it is not done each time
		for _, id := range t.order[:over] {
			delete(all, id)
		}
		t.order = append([]uint64(nil), t.order[over:]...)
	}
	t.facts.Store(&all)
}

// fileID is FILEID_KERNFS of include/linux/exportfs.h, the type of file handles that
// hold the number of a node of cgroupfs.
const fileID = 0xfe

// pathOf is the path of the existing cgroup with a number. The kernel opens it by the
// number, which needs a privilege; without that the tree is searched.
func (t *Table) pathOf(id uint64) (path string, ok bool) {
	if t.root == "" {
		return "", false
	}
	if t.from >= 0 {
		handle := unix.NewFileHandle(fileID, binary.LittleEndian.AppendUint64(nil, id))
		var fd int
		var err error
		privilege.Raise(privilege.Kernel, func() {
			fd, err = unix.OpenByHandleAt(t.from, handle, unix.O_PATH|unix.O_CLOEXEC)
		})
		switch err {
		case nil:
			defer unix.Close(fd)
			at, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			return t.below(at), err == nil && !strings.HasSuffix(at, " (deleted)")
		case unix.ESTALE: // there is none
			return "", false
		}
	}
	t.walk(func(at string, number uint64) bool {
		path, ok = at, number == id
		return !ok
	})
	return path, ok
}

// below returns the path of a directory relative to the root of the hierarchy.
func (t *Table) below(dir string) string {
	if path := strings.TrimPrefix(dir, t.root); path != "" {
		return path
	}
	return "/"
}

// walk calls f for each cgroup until f returns false.
func (t *Table) walk(f func(path string, id uint64) bool) {
	filepath.WalkDir(t.root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // one that vanished while we walk
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && !f(t.below(dir), st.Ino) {
			return filepath.SkipAll
		}
		return nil
	})
}

// Each calls f for each existing cgroup in the hierarchy of perf_event.
func Each(roots kernel.Roots, f func(id uint64, path string)) error {
	mounts, err := kernel.ReadMounts(roots)
	if err != nil || mounts.PerfCgroup() == "" {
		return err
	}
	t := &Table{root: mounts.PerfCgroup()}
	t.walk(func(path string, id uint64) bool {
		f(id, path)
		return true
	})
	return nil
}

// scan records all existing cgroups.
func (t *Table) scan() {
	some := map[uint64]*Facts{}
	t.walk(func(path string, id uint64) bool {
		f := Parse(path)
		some[id] = &f
		return len(some) < most/2
	})
	t.mu.Lock()
	t.add(some)
	t.mu.Unlock()
}
