package memory

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ppscript/runtime/text/unit"
)

// This file knows how near the process is to the limits behind which the kernel ends it, or gives it no more:
// those of its cgroup and of the cgroups above, of version 2 and 1, and RLIMIT_AS and RLIMIT_DATA. A budget
// counts what a run holds; a cgroup counts maps of programs as well, tables while they are read, and other
// processes. So there are two lines in front of a limit. Behind the first, files are no longer read for names
// and unwind tables; behind the second, the run ends and shows what it has. Caches of files do not count:
// the kernel takes them back.

// A wall is a limit, and what tells what is used of it.
type wall struct {
	limit int64
	used  func() (int64, bool)
}

// near asks the walls how much is left.
type near struct {
	walls []wall
	mu    sync.Mutex
	at    time.Time // of the last look
	freed time.Time // when Go gave back what it did not need
	now   level
	shed  atomic.Bool // files are no longer read
	parts atomic.Bool // large parts of files were not read
}

type level uint8

const (
	enough level = iota
	scarce       // no more is read
	out          // the run ends
)

const (
	// lookEvery is how often the walls are asked.
	lookEvery = 5 * time.Millisecond
	// freeEvery is how often Go is made to give back what it does not need.
	freeEvery = time.Second
	// mostReserve bounds what is kept free in front of large limits.
	mostReserve = 32 << 20
)

// least is the lowest limit; 0 is none.
func least(list []wall) (limit int64) {
	for _, w := range list {
		if limit == 0 || w.limit < limit {
			limit = w.limit
		}
	}
	return limit
}

// reserve is what is in front of the first line.
func (n *near) reserve() int64 { return min(least(n.walls)/3, mostReserve) }

// least is the least that a wall leaves; false if there is no wall.
func (n *near) least() (bytes int64, ok bool) {
	for _, w := range n.walls {
		if used, known := w.used(); known && (!ok || w.limit-used < bytes) {
			bytes, ok = w.limit-used, true
		}
	}
	return bytes, ok
}

// level is behind which line the process is.
func (n *near) level() level {
	if len(n.walls) == 0 {
		return enough
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if now.Sub(n.at) < lookEvery {
		return n.now
	}
	if n.now = n.look(); n.now != enough && now.Sub(n.freed) > freeEvery {
		debug.FreeOSMemory()
		n.now, n.freed = n.look(), time.Now()
	}
	n.at = time.Now()
	return n.now
}

// look compares what is left with the lines. Where others have nearly all of it, nothing would be gained.
func (n *near) look() level {
	left, ok := n.least()
	reserve := n.reserve()
	switch {
	case !ok || left >= reserve || resident() < least(n.walls)/8:
		return enough
	case left >= reserve/4:
		return scarce
	}
	return out
}

// Scarce reports that no file is to be read for names and unwind tables: a limit was
// near. It stays so: what reading frees would be taken by the next file, and the run would spend its time on
// collecting garbage. It may be asked by several goroutines, and often.
func (b *Budget) Scarce() bool {
	if b == nil {
		return false
	}
	if !b.near.shed.Load() && b.near.level() != enough {
		b.near.shed.Store(true)
	}
	return b.near.shed.Load()
}

// Fits reports that the lines are kept where so many bytes are read, and something is made of them.
func (b *Budget) Fits(bytes int64) bool {
	if b == nil || len(b.near.walls) == 0 {
		return true
	}
	if b.Scarce() {
		return false
	}
	left, ok := b.near.least()
	fits := !ok || left-2*bytes > b.near.reserve()/2
	if !fits {
		b.near.parts.Store(true)
	}
	return fits
}

// Out says why the run has to end now, since it would be killed soon; "" if it can go on.
func (b *Budget) Out() string {
	if b == nil || b.near.level() != out {
		return ""
	}
	left, _ := b.near.least()
	return fmt.Sprintf("memory: %s are left of the %s that the cgroup, or ulimit, allows: "+
		"the run ends early, before it is killed", unit.Size(max(left, 0)), unit.Size(least(b.near.walls)))
}

// Shed says what was left out for want of memory; "" if nothing was.
func (b *Budget) Shed() string {
	if b == nil || !b.near.shed.Load() && !b.near.parts.Load() {
		return ""
	}
	return fmt.Sprintf("memory: the cgroup, or ulimit, allows %s, too little to read all files for names "+
		"and unwind tables: some code has addresses instead of names", unit.Size(least(b.near.walls)))
}

// Limit is what the process may have before it is killed, or gets no memory any more: by its cgroup, and by
// its resource limits; 0 is no limit.
func Limit() int64 { return least(walls("/proc/self/cgroup", "/sys/fs/cgroup")) }

// walls are the limits of a process that is in the cgroups of a file, and those of this process.
func walls(of, root string) []wall {
	list := cgroupWalls(of, root)
	for _, r := range []struct {
		kind int
		name string
	}{{syscall.RLIMIT_AS, "VmSize"}, {syscall.RLIMIT_DATA, "VmData"}} {
		var l syscall.Rlimit
		if syscall.Getrlimit(r.kind, &l) == nil && l.Cur < 1<<50 {
			list = append(list, wall{int64(l.Cur), func() (int64, bool) {
				kib, ok := field("/proc/self/status", r.name+":")
				return kib << 10, ok
			}})
		}
	}
	return list
}

// cgroupWalls reads which cgroups a process is in, and their limits, of version 2 and 1.
func cgroupWalls(of, root string) (list []wall) {
	text, _ := os.ReadFile(of)
	for line := range bytes.Lines(bytes.TrimSpace(text)) {
		parts := bytes.SplitN(bytes.TrimSpace(line), []byte(":"), 3)
		if len(parts) < 3 {
			continue
		}
		top, limit, usage, prefix := root, "memory.max", "memory.current", ""
		switch kinds := string(parts[1]); {
		case kinds == "memory":
			top, prefix = root+"/memory", "total_"
			limit, usage = "memory.limit_in_bytes", "memory.usage_in_bytes"
		case kinds != "":
			continue
		}
		for path := filepath.Clean("/" + string(parts[2])); ; path = filepath.Dir(path) {
			dir := filepath.Join(top, path)
			// Version 1 writes a huge number for none.
			if n, ok := number(filepath.Join(dir, limit)); ok && n > 0 && n < 1<<50 {
				list = append(list, wall{n, func() (int64, bool) {
					used, ok := number(filepath.Join(dir, usage))
					inactive, _ := field(filepath.Join(dir, "memory.stat"), prefix+"inactive_file")
					active, _ := field(filepath.Join(dir, "memory.stat"), prefix+"active_file")
					return used - inactive - active, ok
				}})
			}
			if path == "/" {
				break
			}
		}
	}
	return list
}

// number returns the number in a file which has nothing else.
func number(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

// field is the number behind a name in a file of such lines.
func field(file, name string) (int64, bool) {
	text, _ := os.ReadFile(file)
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == name {
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// resident is the pages of this process.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	f := bytes.Fields(text)
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
