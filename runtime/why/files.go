package why

import (
	"iter"
	"math"
	"strings"

	"ppscript/runtime/event"
)

// This file finds the names of the files in system calls. Events have only file descriptors.
// Config.File returns the name of a descriptor's current file. So the events, also after the span,
// are searched for calls that may have changed the file since the wait.

// files caches names for the span that is being explained.
type files struct {
	names   map[fileKey]string
	places  map[placeKey]string
	closed  []closing // in time order
	scanned int       // number of records that were searched
	after   iter.Seq[*event.Event]
}

type fileKey struct{ pid, fd int32 }

type placeKey struct {
	pid  int32
	addr uint64
}

// A closing is a system call after which the descriptors from first to last may be
// other files.
type closing struct {
	at          event.Time
	tid         int32
	first, last int32
}

// now is the prefix of a name if the descriptor may have been another file at
// the time of the wait.
const now = "now "

// file returns the name of the file of a call in which a thread has waited since a
// time.
func (x *Explainer) file(t *thread, fd int32, since event.Time) string {
	if x.cfg.File == nil {
		return ""
	}
	pid := x.task(t.tid).PID
	if pid <= 0 {
		return ""
	}
	f := &x.files
	key := fileKey{pid, fd}
	name, known := f.names[key]
	if !known {
		name = x.cfg.File(pid, fd)
		if f.names == nil {
			f.names = map[fileKey]string{}
		}
		f.names[key] = name
	}
	if name != "" && x.reopened(pid, fd, since) {
		return now + name
	}
	return name
}

// place returns the name of an address in a thread's process.
func (x *Explainer) place(t *thread, addr uint64) string {
	pid := x.task(t.tid).PID
	if x.cfg.Place == nil || pid <= 0 {
		return ""
	}
	f := &x.files
	key := placeKey{pid, addr}
	name, known := f.places[key]
	if !known {
		name = x.cfg.Place(pid, addr)
		if f.places == nil {
			f.places = map[placeKey]string{}
		}
		f.places[key] = name
	}
	return name
}

// reopened reports whether a descriptor may have become another file since a time.
func (x *Explainer) reopened(pid, fd int32, since event.Time) bool {
	f := &x.files
	for ; f.scanned < len(x.recs); f.scanned++ {
		x.noteClosing(&x.recs[f.scanned])
	}
	if f.after != nil {
		after := f.after
		f.after = nil
		for e := range after {
			if e.Kind != event.Sample || e.Stream == nil {
				continue
			}
			if sh := x.shapeOf(e.Stream); sh.kind == kEnter {
				if r, ok := x.decode(sh, e); ok {
					x.noteClosing(&r)
				}
			}
		}
	}
	if x.gaps.lossy(since, event.MaxTime) {
		return true
	}
	for i := len(f.closed) - 1; i >= 0 && f.closed[i].at > since; i-- {
		c := &f.closed[i]
		if fd < c.first || fd > c.last {
			continue
		}
		if of := x.task(c.tid).PID; of <= 0 || of == pid {
			return true
		}
	}
	return false
}

// noteClosing records a call that closes files, or connects a socket to another
// peer.
func (x *Explainer) noteClosing(r *record) {
	if r.kind != kEnter {
		return
	}
	c := closing{at: r.at, tid: r.tid, first: int32(r.b), last: int32(r.b)}
	switch x.names.texts[r.name] {
	case "close", "connect":
	case "dup2", "dup3":
		c.first, c.last = int32(r.c), int32(r.c)
	case "close_range":
		c.last = int32(min(r.c, math.MaxInt32))
	case "execve", "execveat":
		c.first, c.last = 0, math.MaxInt32
	default:
		return
	}
	x.files.closed = append(x.files.closed, c)
}

// begin forgets the names of the previous span.
func (f *files) begin(after iter.Seq[*event.Event]) {
	clear(f.names)
	clear(f.places)
	f.after = after
}

// forget drops closings before since, after the first n records were dropped.
func (f *files) forget(n int, since event.Time) {
	f.scanned = max(f.scanned-n, 0)
	i := 0
	for i < len(f.closed) && f.closed[i].at < since {
		i++
	}
	f.closed = append(f.closed[:0], f.closed[i:]...)
}

// reset forgets all.
func (f *files) reset() { f.scanned, f.closed = 0, f.closed[:0] }

// GeneralFile returns the name of a file for causes, which sum up many spans: "" if the name is not
// certain, and without the peer of a single connection.
func GeneralFile(name string) string {
	if strings.HasPrefix(name, now) {
		return ""
	}
	if !strings.HasPrefix(name, "/") {
		name, _, _ = strings.Cut(name, FromPeer)
	}
	return name
}

// FromPeer separates the port of a server from the peer.
const FromPeer = " from "
