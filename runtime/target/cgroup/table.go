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

// most bounds the cgroups that a Table knows. Beyond it, those that it learned first go,
// and are looked up again if somebody asks for them.
const most = 1 << 14

// A Table is the cgroups of this machine by their numbers, also of those that are gone
// since it learned of them. Several goroutines may ask it.
//
// A cgroup that is made and removed between two looks is known if somebody tells the
// Table (Made), or asks while it is there; else it is "cgroup-ID".
type Table struct {
	root string // of the hierarchy; "" if there is none, as in a recording
	from int    // a descriptor of it, for look-ups; -1 if there is none

	facts atomic.Pointer[map[uint64]*Facts] // replaced as a whole

	mu        sync.Mutex
	order     []uint64   // of known, by when they came
	processes *processes // nil in a recording
	// legacy says that containers and units may have hierarchies of their own.
	legacy bool
	// onNew is told of cgroups with a container or a pod; nil is not.
	onNew func(*Facts)
}

// Open makes the Table of this machine and learns the cgroups that there are.
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
		t.from = -1 // look-ups walk the tree
	}
	t.scan()
	return t, nil
}

// Empty is a Table that knows what it is told: of a recording.
func Empty() *Table {
	t := &Table{from: -1}
	t.facts.Store(&map[uint64]*Facts{})
	return t
}

// Close gives up what the Table holds open.
func (t *Table) Close() error {
	if t.from < 0 {
		return nil
	}
	err := unix.Close(t.from)
	t.from = -1
	return err
}

// At is what is known of the cgroup with a number; never nil.
//
// Fast path: one look into a map, without a lock.
func (t *Table) At(id uint64) *Facts {
	if f := (*t.facts.Load())[id]; f != nil {
		return f
	}
	return t.lookUp(id)
}

// Of is what is known of a process in the cgroup with a number at a time: where units
// and containers have hierarchies of their own, of version 1, of the process itself.
func (t *Table) Of(id uint64, pid int32, now int64) *Facts {
	f := t.At(id)
	if !t.legacy || pid <= 0 {
		return f
	}
	return t.processes.of(f, id, pid, now)
}

// OfProcess is what a process tells of its cgroup at a time, where samples do not; nil if
// it is gone, or of another machine.
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

// Announce has see told of each cgroup of a container or a pod, those that are known
// already too. It must not wait.
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

// lookUp learns a cgroup by its number.
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

// add adds cgroups, under the lock.
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

// fileID is FILEID_KERNFS of include/linux/exportfs.h: a handle that is the number of a
// node of cgroupfs.
const fileID = 0xfe

// pathOf is the path of the cgroup with a number that is there now. The kernel opens it
// by the number, which needs a privilege; else the tree is searched.
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

// below is the path of a directory in the hierarchy.
func (t *Table) below(dir string) string {
	if path := strings.TrimPrefix(dir, t.root); path != "" {
		return path
	}
	return "/"
}

// walk calls f with each cgroup until it returns false.
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

// Each calls f with each cgroup of the hierarchy of perf_event that there is.
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

// scan learns all cgroups that there are.
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
