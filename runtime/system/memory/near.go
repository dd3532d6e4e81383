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

// This file measures the distance to the limits at which the kernel kills the process or refuses
// memory: the limits of its cgroup and of the cgroups above, of version 2 and 1, and RLIMIT_AS and
// RLIMIT_DATA. A budget covers the state of a run; a cgroup's limit also covers maps of programs of
// the kernel, files while they are read, and other processes. So there are two thresholds before a
// limit. When less is free than the first, files are no longer read for names and unwind tables;
// below the second, the run ends and shows its results so far. Page cache does not count, since the
// kernel can free it.

// A wall is a limit in bytes, and a function that reads how much of it is used.
type wall struct {
	limit int64
	used  func() (int64, bool)
}

// near compares the walls with the thresholds.
type near struct {
	walls []wall
	mu    sync.Mutex
	at    time.Time // time of the last check
	freed time.Time // time when Go last returned unused memory
	now   level
	shed  atomic.Bool // files are no longer read, for good
	parts atomic.Bool // a large part of some file was not read
}

type level uint8

const (
	enough level = iota
	scarce       // below the first threshold: no more files are read
	out          // below the second: the run ends
)

const (
	// lookEvery is the shortest time between two checks.
	lookEvery = 5 * time.Millisecond
	// freeEvery is the shortest time between two calls that make Go return
	// unused memory.
	freeEvery = time.Second
	// mostReserve bounds the memory that is kept free before large limits.
	mostReserve = 32 << 20
)

// least is the lowest limit of a list; 0 if there is none.
func least(list []wall) (limit int64) {
	for _, w := range list {
		if limit == 0 || w.limit < limit {
			limit = w.limit
		}
	}
	return limit
}

// reserve is the first threshold, in bytes before the lowest limit.
func (n *near) reserve() int64 { return min(least(n.walls)/3, mostReserve) }

// least is the free memory of the tightest wall; ok is false if there is no
// wall.
func (n *near) least() (bytes int64, ok bool) {
	for _, w := range n.walls {
		if used, known := w.used(); known && (!ok || w.limit-used < bytes) {
			bytes, ok = w.limit-used, true
		}
	}
	return bytes, ok
}

// level returns which threshold the process has passed.
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

// look compares the free memory with the thresholds. If other processes use nearly all of the
// limit, reading less here would not help.
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

// Scarce reports that no more files may be read for names and unwind tables, because a limit was
// near. It stays true: the next file would use the freed memory again, and the run would spend its
// time on collecting garbage. Several goroutines may call it, and often.
func (b *Budget) Scarce() bool {
	if b == nil {
		return false
	}
	if !b.near.shed.Load() && b.near.level() != enough {
		b.near.shed.Store(true)
	}
	return b.near.shed.Load()
}

// Fits reports whether a number of bytes can be read and converted without coming too near to a
// limit.
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

// Out is the message that the run must end now, before it is killed; "" if it can
// continue.
func (b *Budget) Out() string {
	if b == nil || b.near.level() != out {
		return ""
	}
	left, _ := b.near.least()
	return fmt.Sprintf("memory: %s are left of the %s that the cgroup, or ulimit, allows: "+
		"the run ends early, before it is killed", unit.Size(max(left, 0)), unit.Size(least(b.near.walls)))
}

// Shed is the message that files were not read because memory was scarce; "" if
// all were.
func (b *Budget) Shed() string {
	if b == nil || !b.near.shed.Load() && !b.near.parts.Load() {
		return ""
	}
	return fmt.Sprintf("memory: the cgroup, or ulimit, allows %s, too little to read all files for names "+
		"and unwind tables: some code has addresses instead of names", unit.Size(least(b.near.walls)))
}

// Limit is the memory at which the process is killed or gets no more, by the limits of its cgroups
// and its resource limits; 0 means no limit.
func Limit() int64 { return least(walls("/proc/self/cgroup", "/sys/fs/cgroup")) }

// walls lists the limits of the cgroups named in the file of, and the resource limits of this
// process.
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

// cgroupWalls reads the cgroups of a process from the file of, and their limits, of
// version 2 and 1.
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
			// Version 1 writes a huge number for "no limit".
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

// number reads a file that contains one number.
func number(file string) (int64, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return n, err == nil
}

// field reads the number after a name, in a file with lines of names and
// numbers.
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

// resident is the resident memory of this process in bytes.
func resident() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	f := bytes.Fields(text)
	if len(f) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(string(f[1]), 10, 64)
	return pages * int64(os.Getpagesize())
}
