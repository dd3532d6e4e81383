package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/key"
)

// This file holds what waits: at most one event for each key, in a list from
// the oldest to the newest so that bounds evict the oldest.
//
// A key keeps its row in the table when its event goes: most keys (threads,
// CPUs) come again at once, and looking one up is cheaper than deleting and
// inserting it. Keys that do not come again (addresses) are swept away when
// they are too many.

// waiting is a copy of an event that waits for its partner.
type waiting struct {
	ev         event.Event
	buf        []byte // of ev.Raw, if only a part of it is kept
	row        int32
	prev, next *waiting

	// Of a Nested: the call below it, its place in the tree, and how long
	// calls inside it took.
	below  *waiting
	stage  int32
	node   int32
	depth  int32
	inside int64
}

// rows is the table of keys.
type rows struct {
	ints  *key.Ints
	texts *key.Texts
	keys  []int64    // by row, if the keys are integers
	at    []*waiting // by row; nil is an empty one
	empty int        // rows whose key is in the table but nobody waits
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
		t.at = append(t.at, nil)
		t.keys = append(t.keys, 0)
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
		if w != nil {
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

// list is the waiting events in the order of arrival.
type list struct {
	oldest, newest *waiting
	count          int
	bytes          int
	pool           *waiting // unused ones, by next
}

func (l *list) link(w *waiting) {
	w.prev, w.next = l.newest, nil
	if l.newest != nil {
		l.newest.next = w
	} else {
		l.oldest = w
	}
	l.newest = w
	l.count++
	l.bytes += w.size()
}

func (l *list) unlink(w *waiting) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.oldest = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.newest = w.prev
	}
	l.count--
	l.bytes -= w.size()
}

// structBytes is about what a waiting costs beside its record: itself, its row
// and its place in the table.
const structBytes = 224

func (w *waiting) size() int { return structBytes + max(len(w.ev.Raw), len(w.ev.Rec)) }

func (l *list) take() *waiting {
	if w := l.pool; w != nil {
		l.pool = w.next
		return w
	}
	return new(waiting)
}

func (l *list) free(w *waiting) {
	w.prev, w.next = nil, l.pool
	l.pool = w
}

// keep copies e into w: all of it, or as much of the record as somebody reads.
func (w *waiting) keep(e *event.Event, raw int) {
	if raw < 0 || e.Joint != nil {
		e.Keep(&w.ev)
		return
	}
	w.buf = append(w.buf[:0], e.Raw[:min(raw, len(e.Raw))]...)
	w.ev = *e
	w.ev.Raw, w.ev.Rec = w.buf, nil
}
