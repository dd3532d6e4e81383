package timeline

import (
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/text/plain"
)

// This file assigns tracks to threads, CPUs and keys.

// maxTracks bounds the tracks of threads, and the tracks below them, that are kept. At
// the bound all are forgotten. The next event of a thread makes a new track with the same
// name, and viewers show tracks of one name as one.
const maxTracks = 1 << 16

// maxLanes bounds the parallel tracks for slices that overlap. When all are in use, a new
// track replaces the last one.
const maxLanes = 64

type tracks struct {
	last    uint64
	threads map[int32]*Track
	pids    map[int32]int32 // processes of threads, by tid
	cpus    map[int32]*Track
	groups  map[string]*Track
	lanes   map[below]*[]*Track
}

// below identifies the lanes (parallel tracks) of one kind of slices below a
// thread, or of one key below a group.
type below struct {
	parent uint64
	name   string
}

func newTracks() tracks {
	return tracks{
		threads: map[int32]*Track{},
		pids:    map[int32]int32{},
		cpus:    map[int32]*Track{},
		groups:  map[string]*Track{},
		lanes:   map[below]*[]*Track{},
	}
}

// track makes a track with the next ID.
func (ts *tracks) track(t Track) *Track {
	ts.last++
	t.ID = ts.last
	return &t
}

// of returns the track of the event's thread, or of its CPU if the thread is unknown.
func (ts *tracks) of(b *Builder, e *event.Event) *Track {
	if e.TID < 0 {
		return ts.cpu(e.CPU)
	}
	if t := ts.threads[e.TID]; t != nil {
		return t
	}
	name := ""
	if b.opt.Comm != nil {
		name = b.opt.Comm(e)
	}
	return ts.thread(e.PID, e.TID, e.CPU, name)
}

// named returns the track of another thread that an event names in its fields.
func (ts *tracks) named(b *Builder, e *event.Event, tid int32) *Track {
	if t := ts.threads[tid]; t != nil {
		return t
	}
	about := event.Event{Time: e.Time, Stream: e.Stream, PID: -1, TID: tid, CPU: e.CPU, Kind: e.Kind}
	name := ""
	if b.opt.Comm != nil {
		name = b.opt.Comm(&about)
	}
	pid, known := ts.pids[tid]
	if !known {
		pid = -1
		if b.opt.Process != nil {
			pid = b.opt.Process(tid)
		}
	}
	return ts.thread(pid, tid, e.CPU, name)
}

// process records the process of an event's thread.
func (ts *tracks) process(e *event.Event) {
	if e.TID <= 0 || e.PID < 0 {
		return
	}
	if len(ts.pids) >= 4*maxTracks {
		clear(ts.pids)
	}
	ts.pids[e.TID] = e.PID
}

// thread makes the track of a thread. Idle threads have the tracks of their
// CPUs.
func (ts *tracks) thread(pid, tid, cpu int32, name string) *Track {
	if tid == 0 {
		return ts.cpu(cpu)
	}
	if len(ts.threads) >= maxTracks {
		clear(ts.threads)
	}
	t := ts.track(Track{Kind: OfThread, PID: pid, TID: tid, Name: string(plain.Append(nil, name))})
	ts.threads[tid] = t
	return t
}

func (ts *tracks) cpu(cpu int32) *Track {
	t := ts.cpus[cpu]
	if t == nil {
		name := "CPU " + strconv.Itoa(int(cpu))
		t = ts.track(Track{Kind: OfCPU, CPU: cpu, Name: name, Parent: ts.group("CPUs")})
		ts.cpus[cpu] = t
	}
	return t
}

// group returns the track that is the title of a group of tracks.
func (ts *tracks) group(name string) *Track {
	t := ts.groups[name]
	if t == nil {
		t = ts.track(Track{Kind: OfGroup, Name: name})
		ts.groups[name] = t
	}
	return t
}

// below returns a track for a slice below a parent: the given lane, or for lane -1 the
// first lane whose last slice is over.
func (ts *tracks) below(parent *Track, name string, it *Item, lane int) *Track {
	at := below{parent.ID, name}
	lanes := ts.lanes[at]
	if lanes == nil {
		if len(ts.lanes) >= maxTracks {
			clear(ts.lanes)
		}
		lanes = new([]*Track)
		ts.lanes[at] = lanes
	}
	add := func(i int) *Track {
		for i >= len(*lanes) {
			*lanes = append(*lanes, nil)
		}
		(*lanes)[i] = ts.track(Track{Kind: OfKey, Name: string(plain.Append(nil, name)), Parent: parent})
		(*lanes)[i].end = it.End
		return (*lanes)[i]
	}
	if lane >= 0 && lane < maxLanes {
		if lane >= len(*lanes) || (*lanes)[lane] == nil || (*lanes)[lane].end > it.Time {
			return add(lane)
		}
		(*lanes)[lane].end = it.End
		return (*lanes)[lane]
	}
	for i, t := range *lanes {
		if t == nil {
			return add(i)
		}
		if t.end <= it.Time {
			t.end = it.End
			return t
		}
	}
	return add(min(len(*lanes), maxLanes-1))
}
