package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/key"
)

// This file implements the matching rules:
//
//   - an event first looks for a partner: what waits under its key is taken
//     away, whatever it is, and makes a pair if it is of the stage before and
//     strictly older;
//   - then it waits itself, unless its stage is the last. Whoever waited under
//     the key gives way: only the last start before an end counts.
//
// The tempting alternative, to keep an older start when a newer comes, reports
// latencies across whatever made the end of the first one invisible.

// A Spec describes a Join.
type Spec struct {
	// Stage is the stage of each stream, by index; -1 for streams that do
	// not arrive.
	Stage []int
	// Key relates the events.
	Key *flow.Fn
	// Pairs are the streams of the pairs, by start and end stream index; nil
	// where the two make no pair.
	Pairs [][]*event.Stream
	// Cycle makes the last stage precede the first.
	Cycle bool
	// ByRing says that pairs never span rings, so that a loss in one leaves
	// the others alone.
	ByRing bool
	// NeedKey fills the pair's key slot.
	NeedKey bool
	// Limit bounds what waits; 0 is DefaultLimit.
	Limit int
}

// DefaultLimit is how many events may wait: with 200 bytes each, 200 MB.
const DefaultLimit = 1 << 20

// A Join makes pairs of events. It implements flow.Sink.
type Join struct {
	spec Spec
	next flow.Sink
	last int // the last stage

	ints  *key.Ints
	texts *key.Texts
	key   int64      // of the event at hand
	pack  []byte     // the same, if it is not an integer
	byRow []*waiting // by row of the key table

	oldest, newest *waiting // list in order of arrival
	count          int
	pool           *waiting // unused ones, by next

	out   []*event.Event
	pairs []pair
	spent []*waiting // parts of pairs that are being handed out

	frame expr.Frame
	errs  flow.Errors
	stats Stats
}

// Stats counts what became of the events.
type Stats struct {
	Pairs       uint64
	Replaced    uint64 // starts that gave way to a newer one of the same key
	Cancelled   uint64 // starts taken away by an event that makes no pair with them
	EndsAlone   uint64 // ends that nothing waited for
	Broken      uint64 // starts discarded because of a loss
	Evicted     uint64 // starts pushed out by the limit
	Waiting     int    // starts that wait now
	WaitingPeak int
}

// waiting is a copy of an event that waits for its partner.
type waiting struct {
	ev         event.Event
	row        int32
	key        int64
	prev, next *waiting
}

type pair struct {
	ev    event.Event
	joint event.Joint
	slots [1]event.Value
}

// batch is how many pairs are handed on at once.
const batch = 128

// New returns a Join that hands its pairs to next.
func New(spec Spec, next flow.Sink) *Join {
	j := &Join{spec: spec, next: next}
	if spec.Limit <= 0 {
		j.spec.Limit = DefaultLimit
	}
	for _, s := range spec.Stage {
		j.last = max(j.last, s)
	}
	integer := true
	spec.Key.Each(func(p *expr.Program) { integer = integer && p.Type.Numeric() })
	if integer {
		j.ints = key.NewInts(j.spec.Limit + 1)
	} else {
		j.texts = key.NewTexts(j.spec.Limit + 1)
	}
	j.pairs = make([]pair, batch)
	return j
}

// Events implements flow.Sink.
func (j *Join) Events(evs []*event.Event) {
	for _, e := range evs {
		stage := j.spec.Stage[e.Stream.Index]
		if stage < 0 {
			continue
		}
		j.frame.Event = e
		w := j.find(e)
		if j.frame.Err != nil {
			j.errs.Note(&j.frame)
			continue
		}
		if stage > 0 || j.spec.Cycle {
			if w != nil {
				j.match(w, e)
				w = nil
			} else if stage > 0 {
				j.stats.EndsAlone++
			}
		}
		if stage < j.last || j.spec.Cycle {
			j.wait(w, e)
		}
	}
	j.flush()
}

// find evaluates the key and returns who waits under it. The key is left in
// j for wait.
func (j *Join) find(e *event.Event) *waiting {
	p := j.spec.Key.For(e)
	var row int32
	if j.ints != nil {
		j.key = p.Int(&j.frame)
		row = j.ints.Find(j.key)
	} else {
		j.pack = key.Append(j.pack[:0], p, &j.frame)
		row = j.texts.Find(j.pack)
	}
	if row < 0 {
		return nil
	}
	return j.byRow[row]
}

// match takes w away and makes a pair of it and e, if they are one.
func (j *Join) match(w *waiting, e *event.Event) {
	j.remove(w)
	stream := j.spec.Pairs[w.ev.Stream.Index][e.Stream.Index]
	if stream == nil || w.ev.Time >= e.Time {
		j.stats.Cancelled++
		j.free(w)
		return
	}
	j.stats.Pairs++
	p := &j.pairs[len(j.out)]
	p.ev = event.Event{Time: e.Time, Stream: stream, Joint: &p.joint,
		PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring}
	p.joint.Start, p.joint.End = &w.ev, e
	if j.spec.NeedKey {
		p.slots[0] = j.spec.Key.For(e).Value(&j.frame)
		p.joint.Slots = p.slots[:]
	}
	j.out = append(j.out, &p.ev)
	j.spent = append(j.spent, w)
	if len(j.out) == batch {
		j.flush()
	}
}

func (j *Join) flush() {
	if len(j.out) > 0 {
		j.next.Events(j.out)
		j.out = j.out[:0]
	}
	for _, w := range j.spent {
		j.free(w)
	}
	j.spent = j.spent[:0]
}

// wait lets e wait under the key that find left; w is who waits there now.
func (j *Join) wait(w *waiting, e *event.Event) {
	if w != nil {
		if w.ev.Time > e.Time {
			j.stats.Cancelled++ // e is out of order
			return
		}
		j.stats.Replaced++
		j.unlink(w)
	} else {
		if j.count >= j.spec.Limit {
			j.stats.Evicted++
			old := j.oldest
			j.remove(old)
			j.free(old)
		}
		w = j.take()
		if j.ints != nil {
			w.row, _ = j.ints.Insert(j.key)
			w.key = j.key
		} else {
			w.row, _ = j.texts.Insert(j.pack)
		}
		for int(w.row) >= len(j.byRow) {
			j.byRow = append(j.byRow, nil)
		}
		j.byRow[w.row] = w
	}
	e.Keep(&w.ev)
	j.link(w)
}

// remove takes w out of the table and the list; it still has to be freed.
func (j *Join) remove(w *waiting) {
	if j.ints != nil {
		j.ints.Delete(w.key)
	} else {
		j.texts.Delete(j.texts.Key(w.row))
	}
	j.byRow[w.row] = nil
	j.unlink(w)
}

func (j *Join) link(w *waiting) {
	w.prev, w.next = j.newest, nil
	if j.newest != nil {
		j.newest.next = w
	} else {
		j.oldest = w
	}
	j.newest = w
	j.count++
	j.stats.WaitingPeak = max(j.stats.WaitingPeak, j.count)
}

func (j *Join) unlink(w *waiting) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		j.oldest = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		j.newest = w.prev
	}
	j.count--
}

func (j *Join) take() *waiting {
	if w := j.pool; w != nil {
		j.pool = w.next
		return w
	}
	return new(waiting)
}

func (j *Join) free(w *waiting) {
	w.prev, w.next = nil, j.pool
	j.pool = w
}

// Lost implements flow.Sink: the lost events may have been the ends of what
// waits, or newer starts; pairing across them would report latencies that
// never were. Starts in the ring, or all if pairs span rings, are discarded.
func (j *Join) Lost(ring int32, n uint64, t event.Time) {
	for w := j.oldest; w != nil; {
		next := w.next
		if !j.spec.ByRing || w.ev.Ring == ring {
			j.remove(w)
			j.free(w)
			j.stats.Broken++
		}
		w = next
	}
	j.next.Lost(ring, n, t)
}

// Pending calls fn for every event that waits, oldest first.
func (j *Join) Pending(fn func(e *event.Event)) {
	for w := j.oldest; w != nil; w = w.next {
		fn(&w.ev)
	}
}

// Stats returns the counters.
func (j *Join) Stats() Stats {
	s := j.stats
	s.Waiting = j.count
	return s
}

// Loss returns what the pairs since the last call do not contain.
func (j *Join) Loss() event.Loss {
	s := &j.stats
	l := event.Loss{
		Unmatched: s.Replaced + s.Cancelled + s.EndsAlone,
		Dropped:   s.Broken,
		Evicted:   s.Evicted,
		Errors:    j.errs.N,
	}
	pairs, peak := s.Pairs, s.WaitingPeak
	*s = Stats{Pairs: pairs, WaitingPeak: peak}
	j.errs.N = 0
	return l
}
