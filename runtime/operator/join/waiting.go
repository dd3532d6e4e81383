package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
	"ppscript/runtime/system/memory"
)

// This file holds the waiting events.
//
// A million of them can wait, and each is written and read once, so that memory
// is their main cost. Therefore only the parts of an event that are read later
// are kept, in arrays without pointers, which the garbage collector does not
// scan.

// A waiting is an event that waits for its partner. Its number is its index in
// the arrays of list.
type waiting struct {
	time                        event.Time
	stream, pid, tid, cpu, ring int32
	row                         int32  // of its key
	place                       uint32 // in the queue
	size                        int32  // its part of the bound on memory
	raw                         int32  // bytes kept of the record; whole: the event is in wholes
	begin                       [inlineRaw]byte
}

// inlineRaw is the number of bytes of a record that are stored beside the
// event, in the same cache line.
const inlineRaw = 20

const (
	nobody = -1 // in place of the number of a waiting
	whole  = -1 // waiting.raw
)

// list holds the waiting events.
type list struct {
	queue
	at      []waiting
	records []byte        // stride bytes for each, if more than inlineRaw is kept
	wholes  []event.Event // copies of the events that are kept whole
	streams []*event.Stream
	unused  []int32

	keepRaw int // bytes of a record to keep; negative keeps all
	stride  int
	count   int
	bytes   int
	room    room
	opens   []flow.Opens
}

// A room is the number of bytes of waiting events that are granted so far by the run's memory.
type room struct {
	part  *memory.Part // nil: no bound
	bytes int
}

// leastWaiting is the number of bytes that may wait in any case.
const leastWaiting = 64 << 10

// crowded reports that an event must be evicted before another one may wait.
func (l *list) crowded(b *Bounds) bool {
	return l.count >= b.Limit ||
		l.count > 0 && (l.bytes >= b.LimitBytes || l.room.part != nil && l.bytes >= l.room.bytes && !l.ask())
}

// ask asks for more memory: half as much again, since slices grow by more than is needed.
//
// Slow path: once for an eighth of what waits, or for each that finds no room.
func (l *list) ask() bool {
	more := l.room.bytes + max(leastWaiting, l.room.bytes/8)
	if !l.room.part.Hold(int64(more) * 3 / 2) {
		return false
	}
	l.room.bytes = more
	return true
}

func newList(keepRaw int, b *Bounds) list {
	l := list{queue: newQueue(), keepRaw: keepRaw, room: room{part: b.Memory.Part("waiting events")}}
	if l.room.part != nil {
		l.room.bytes = leastWaiting
		l.room.part.Must(leastWaiting)
	}
	if keepRaw > inlineRaw {
		l.stride = (keepRaw + 7) &^ 7
	}
	return l
}

func (l *list) unlink(n int32) {
	w := &l.at[n]
	l.remove(w.place)
	l.count--
	l.bytes -= int(w.size)
	for _, o := range l.opens {
		o.Closed(n)
	}
}

// The memory of a waiting beside its record: itself, its row and its place in
// the table of keys, of which half is empty; and a whole event.
const (
	structBytes = 144
	wholeBytes  = 112
)

// take returns the number of an unused entry.
func (l *list) take() int32 {
	if last := len(l.unused) - 1; last >= 0 {
		n := l.unused[last]
		l.unused = l.unused[:last]
		return n
	}
	return l.more()
}

// more makes an entry.
func (l *list) more() int32 {
	n := len(l.at)
	l.at = append(key.Grow(l.at), waiting{})
	if room := cap(l.at) * l.stride; room > len(l.records) {
		l.records = append(key.Huge(make([]byte, 0, room)), l.records...)[:room]
	}
	return int32(n)
}

// since is the time of the oldest event that waits.
func (l *list) since() event.Time {
	n := l.oldest()
	if n == nobody {
		return event.MaxTime
	}
	return l.at[n].time
}

func (l *list) free(n ...int32) { l.unused = append(l.unused, n...) }

// put makes e wait in row as the newest event, under the number n. It copies
// all of e, or keepRaw bytes of its record.
//
// Fast path: this runs for every start.
func (l *list) put(n, row int32, e *event.Event) {
	if l.full() {
		l.makeRoom(l.at, l.count)
	}
	w := &l.at[n]
	i := e.Stream.Index
	w.time, w.stream, w.ring, w.row = e.Time, int32(i), e.Ring, row
	w.place = l.add(n)
	l.count++
	if l.keepRaw < 0 || e.Derived != nil {
		w.raw, w.size = whole, int32(structBytes+wholeBytes+max(len(e.Raw), len(e.Rec)))
		l.bytes += int(w.size)
		for int(n) >= len(l.wholes) {
			l.wholes = append(l.wholes, event.Event{})
		}
		e.Keep(&l.wholes[n])
		return
	}
	w.pid, w.tid, w.cpu = e.PID, e.TID, e.CPU
	if i >= len(l.streams) || l.streams[i] != e.Stream {
		l.know(e.Stream)
	}
	raw := min(l.keepRaw, len(e.Raw))
	w.raw, w.size = int32(raw), int32(structBytes+raw)
	l.bytes += structBytes + raw
	switch {
	case l.stride > 0:
		copy(l.records[int(n)*l.stride:], e.Raw[:raw])
	case len(e.Raw) >= inlineRaw:
		w.begin = [inlineRaw]byte(e.Raw) // a few instructions
	default:
		copy(w.begin[:], e.Raw)
	}
}

// load loads the kept parts of n.
func (l *list) load(n int32) int64 {
	sum := int64(l.at[n].time)
	if at := int(n) * l.stride; at < len(l.records) {
		sum += int64(l.records[at])
	}
	return sum
}

// know notes a stream.
//
// Slow path: once for each.
func (l *list) know(s *event.Stream) {
	for s.Index >= len(l.streams) {
		l.streams = append(l.streams, nil)
	}
	l.streams[s.Index] = s
}

// event returns the event of n, which is made in e if only a part of it was
// kept. It is valid until n is freed.
func (l *list) event(n int32, e *event.Event) *event.Event {
	w := &l.at[n]
	if w.raw == whole {
		return &l.wholes[n]
	}
	// The members that are not set here are never set.
	if s := l.streams[w.stream]; e.Stream != s {
		e.Stream = s
	}
	e.Time = w.time
	e.PID, e.TID, e.CPU, e.Ring = w.pid, w.tid, w.cpu, w.ring
	if l.stride == 0 {
		e.Raw = w.begin[:w.raw:w.raw]
		return e
	}
	from, to := int(n)*l.stride, int(n)*l.stride+int(w.raw)
	e.Raw = l.records[from:to:to]
	return e
}
