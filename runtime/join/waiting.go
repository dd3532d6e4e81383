package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/key"
)

// This file holds what waits, in a list from the oldest to the newest so that
// bounds evict the oldest.
//
// A million of them can wait, and each is written and read once: memory is what
// they cost. So of an event is kept what its users read and no more, in arrays
// without pointers, which the garbage collector does not look into.

// A waiting is an event that waits for its partner. It is known by its number,
// the place in the arrays of its list.
type waiting struct {
	time                        event.Time
	stream, pid, tid, cpu, ring int32
	row                         int32 // of its key
	prev, next                  int32 // in the list; or next is the next unused one
	size                        int32 // what it counts for the bound on memory
	raw                         int32 // bytes kept of the record; whole is all of the event
}

const (
	nobody = -1 // in place of the number of a waiting
	whole  = -1 // waiting.raw
)

// list is the waiting events in the order of arrival.
type list struct {
	at      []waiting
	records []byte        // stride bytes for each
	wholes  []event.Event // copies of those that are kept whole
	streams []*event.Stream

	keepRaw int // bytes of a record that somebody reads; negative is all
	stride  int

	oldest, newest int32
	unused         int32
	count          int
	bytes          int
}

func newList(keepRaw int) list {
	return list{keepRaw: keepRaw, stride: (max(keepRaw, 0) + 7) &^ 7, oldest: nobody, newest: nobody, unused: nobody}
}

func (l *list) link(n int32) {
	w := &l.at[n]
	w.prev, w.next = l.newest, nobody
	if l.newest != nobody {
		l.at[l.newest].next = n
	} else {
		l.oldest = n
	}
	l.newest = n
	l.count++
	l.bytes += int(w.size)
}

func (l *list) unlink(n int32) {
	w := &l.at[n]
	if w.prev != nobody {
		l.at[w.prev].next = w.next
	} else {
		l.oldest = w.next
	}
	if w.next != nobody {
		l.at[w.next].prev = w.prev
	} else {
		l.newest = w.prev
	}
	l.count--
	l.bytes -= int(w.size)
}

// What a waiting costs beside its record: itself, its row and its place in the
// table of keys, of which half is empty; and a whole event.
const (
	structBytes = 128
	wholeBytes  = 112
)

// take returns the number of an unused one.
func (l *list) take() int32 {
	n := l.unused
	if n == nobody {
		return l.more()
	}
	l.unused = l.at[n].next
	return n
}

// more makes one.
func (l *list) more() int32 {
	n := len(l.at)
	l.at = append(key.Grow(l.at), waiting{})
	if room := cap(l.at) * l.stride; room > len(l.records) {
		l.records = append(key.Huge(make([]byte, 0, room)), l.records...)[:room]
	}
	return int32(n)
}

func (l *list) free(n int32) {
	l.at[n].next = l.unused
	l.unused = n
}

// keep copies e into n: all of it, or as much of the record as somebody reads.
func (l *list) keep(n int32, e *event.Event) {
	w := &l.at[n]
	i := e.Stream.Index
	w.time, w.stream, w.ring = e.Time, int32(i), e.Ring
	if l.keepRaw < 0 || e.Joint != nil {
		w.raw, w.size = whole, int32(structBytes+wholeBytes+max(len(e.Raw), len(e.Rec)))
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
	copy(l.records[int(n)*l.stride:], e.Raw[:raw])
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
	e.Time, e.Stream = w.time, l.streams[w.stream]
	e.PID, e.TID, e.CPU, e.Ring = w.pid, w.tid, w.cpu, w.ring
	from, to := int(n)*l.stride, int(n)*l.stride+int(w.raw)
	e.Raw = l.records[from:to:to]
	return e
}

// rows is the table of keys: at most one event waits for each.
//
// A key keeps its row in the table when its event goes: most keys (threads,
// CPUs) come again at once, and looking one up is cheaper than deleting and
// inserting it. Keys that do not come again (addresses) are swept away when
// they are too many.
type rows struct {
	ints  *key.Ints
	texts *key.Texts
	keys  []int64 // by row, if the keys are integers
	at    []int32 // who waits, by row; or nobody
	empty int     // rows whose key is in the table but nobody waits
}

// sweepAt is how many empty rows are always tolerated.
const sweepAt = 4096

func newRows(integer bool) *rows {
	t := &rows{}
	// The bound on what waits is the join's: the table must not refuse before.
	const noLimit = 1<<31 - 1
	if integer {
		t.ints = key.NewInts(noLimit)
	} else {
		t.texts = key.NewTexts(noLimit)
	}
	return t
}

// insert returns the row of a key that is not there.
func (t *rows) insert(k int64, pack []byte) int32 {
	var row int32
	if t.ints != nil {
		row, _ = t.ints.Insert(k)
	} else {
		row, _ = t.texts.Insert(pack)
	}
	for int(row) >= len(t.at) {
		t.at = append(key.Grow(t.at), nobody)
		t.keys = append(key.Grow(t.keys), 0)
	}
	t.keys[row] = k
	t.empty++
	return row
}

// sweep deletes the keys of empty rows.
//
// Slow path: once in as many events as rows are swept.
func (t *rows) sweep() {
	for row, w := range t.at {
		if w != nobody {
			continue
		}
		if t.ints != nil {
			if t.ints.Find(t.keys[row]) == int32(row) {
				t.ints.Delete(t.keys[row])
			}
			continue
		}
		if k := t.texts.Key(int32(row)); t.texts.Find(k) == int32(row) {
			t.texts.Delete(k)
		}
	}
	t.empty = 0
}
