package join

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// This file implements the matching rules:
//
//   - an event that may be an end looks for a partner: the event that waits
//     under its key is taken away in any case, and makes a pair if it is of
//     the stage before and strictly older;
//   - then it waits itself, if it may be a start. The event that waited under the key
//     gives way: only the last start before an end counts.
//
// The tempting alternative, to keep an older start when a newer comes, reports
// latencies that are too long whenever the end of the first one was not seen.

// A Join makes pairs of events. It implements flow.Sink.
type Join struct {
	spec Spec
	next flow.Sink
	in   []input // by stream
	rows *rows
	list list
	key  struct {
		keyAtHand
		look lookAhead
	}

	matches  matchBatch[pair]
	unpaired single
	clock    clock
	running  []int64 // by CPU: the task that runs there, -1 if not known
	endings

	frame expr.Frame
	errs  flow.Errors
	tally tally
}

// A keyAtHand is the key of the event that is being handled.
type keyAtHand struct {
	integer bool // all keys are
	num     int64
	pack    []byte // the same, if it is not an integer
}

// matchBatch holds pairs on their way to the next operator.
type matchBatch[P any] struct {
	out   []*event.Event
	pairs []P
	spent []int32     // the starts of pairs that are being handed out
	gone  event.Event // scratch of list.event
}

// A single is an unpaired event on its way to the next operator.
type single struct {
	pair pair
	out  [1]*event.Event
}

// A clock holds the time of the newest event, and the end of the last loss.
type clock struct {
	now event.Time // of the newest event
	// closed is the end of the last loss; before it no event starts or ends a
	// pair. If pairs do not span rings, it applies only to the ring of the loss.
	closed event.Time
	losses losses
}

// A tally has the counters, and the values that Loss has already reported.
type tally struct {
	stats, reported Stats
	failed, pushed  uint64
}

// input is an In with derived constants, computed once.
type input struct {
	In
	arrives bool
	starts  bool
	ends    bool
	middle  bool // an end without a start is worth counting
	slow    bool // the key runs in the interpreter: once is enough
}

type pair struct {
	ev      event.Event
	start   event.Event // view of the start if only a part of it was kept
	derived event.Derived
	slots   [3]event.Value
	frame   *expr.Frame // of an unpaired event: the join's own is in use
}

// batch is how many pairs are handed on at once.
const batch = 128

// New returns a Join that hands its pairs to next.
func New(spec Spec, next flow.Sink) *Join {
	j := &Join{spec: spec, next: next}
	j.key.integer = spec.integer()
	if spec.Limit <= 0 {
		j.spec.Limit = defaultLimit
	}
	if spec.LimitBytes <= 0 {
		j.spec.LimitBytes = defaultBytes
	}
	last := 0
	for _, in := range spec.In {
		last = max(last, in.Stage)
	}
	for _, in := range spec.In {
		traced := in.Stage >= 0 && !in.Untraced
		j.in = append(j.in, input{
			In:      in,
			arrives: traced || in.Untraced,
			starts:  traced && (in.Stage < last || spec.Cycle),
			ends:    traced && (in.Stage > 0 || spec.Cycle),
			middle:  traced && in.Stage > 0,
			slow:    in.Key != nil && in.Key.IsInterpreted(),
		})
	}
	j.rows = newRows(j.key.integer)
	if j.key.integer {
		j.endings.follow(&j.spec, j.forget)
	}
	j.list = newList(spec.KeepRaw, &spec.Bounds)
	j.list.opens = spec.Opens
	j.matches.pairs = make([]pair, batch)
	for i := range j.matches.pairs {
		p := &j.matches.pairs[i]
		p.ev.Derived = &p.derived
	}
	j.unpaired.pair.frame = new(expr.Frame)
	return j
}

// Events implements flow.Sink.
//
// Fast path: this runs for every event of every stage.
func (j *Join) Events(evs []*event.Event) {
	for rest := evs; len(rest) > 0; {
		n := min(len(rest), ahead)
		j.events(rest[:n])
		rest = rest[n:]
	}
	j.flush()
	if n := len(evs); n > 0 {
		j.clock.now = max(j.clock.now, evs[n-1].Time)
	}
	j.endings.due(j.clock.now)
	if t := j.spec.Timeline; t != nil {
		t.due(t.newest)
		t.release(j.list.since())
	}
}

func (j *Join) events(evs []*event.Event) {
	keyed := j.key.integer && j.evaluate(evs)
	for i, e := range evs {
		in := &j.in[e.Stream.Index]
		if !in.arrives {
			continue
		}
		if t := j.spec.Timeline; t != nil && !in.Apart && (!in.Untraced || j.list.count > 0 || !t.idle()) {
			t.add(e)
		}
		if in.NextPID != nil {
			j.switched(e, in.NextPID)
		}
		if in.Untraced {
			continue
		}
		if e.Time < j.clock.closed {
			j.tally.stats.InLoss++
			continue
		}
		starts, ends := in.starts, in.ends
		if in.Role != nil || in.Wakeup != nil {
			if starts, ends = j.rights(in, e); !starts && !ends {
				continue
			}
		}
		var row int32
		if keyed {
			j.key.num = j.key.look.keys[i]
			row = j.rows.ints.Find(j.key.num)
		} else if row = j.find(in.Key, e); j.frame.Err != nil {
			j.errs.Note(&j.frame)
			continue
		}
		w := int32(nobody)
		if row >= 0 {
			w = j.rows.at[row]
		}
		if ends {
			if w != nobody {
				j.rows.at[row] = nobody
				j.rows.empty++
				j.match(w, e)
				w = nobody
			} else if in.middle {
				j.tally.stats.EndsAlone++
				j.list.alone(e)
				if j.spec.Streams != nil {
					j.leaves(e, Alone, e.Time)
				}
			}
		}
		if starts {
			j.wait(row, w, e)
		}
		if j.rows.empty > sweepAt {
			j.sweep()
		}
	}
}

// rights returns the stages that an event may take, according to its Role, or
// to whether its wakeup counts.
func (j *Join) rights(in *input, e *event.Event) (starts, ends bool) {
	starts, ends = in.starts, in.ends
	if in.Role != nil {
		j.frame.Reset(e)
		role := in.Role.Int(&j.frame)
		if j.frame.Err != nil {
			j.errs.Note(&j.frame)
			return false, false
		}
		starts, ends = starts && role&1 != 0, ends && role&2 != 0
	}
	if starts && in.Wakeup != nil && j.unnecessary(in.Wakeup, e) {
		starts = false
		j.tally.stats.Unnecessary++
	}
	return starts, ends
}

// find evaluates the key and returns its row, negative if it has none. The key
// is left in j for wait.
func (j *Join) find(p *expr.Program, e *event.Event) int32 {
	j.frame.Reset(e)
	if j.key.integer {
		j.key.num = p.Int(&j.frame)
		return j.rows.ints.Find(j.key.num)
	}
	j.key.pack = key.Append(j.key.pack[:0], p, &j.frame)
	return j.rows.texts.Find(j.key.pack)
}

// match makes a pair of n, which has been taken from its row, and e, if the two
// events form a pair.
func (j *Join) match(n int32, e *event.Event) {
	j.list.unlink(n)
	w := &j.list.at[n]
	stream := j.spec.Pairs[w.stream][e.Stream.Index]
	if stream == nil || w.time >= e.Time {
		j.tally.stats.Cancelled++
		if j.spec.Streams != nil {
			j.leaves(j.list.event(n, &j.matches.gone), Cancelled, e.Time)
		}
		j.list.free(n)
		return
	}
	j.tally.stats.Pairs++
	p := &j.matches.pairs[len(j.matches.out)]
	// Only the members that differ from pair to pair are written.
	p.ev.Time, p.ev.Stream = e.Time, stream
	p.ev.PID, p.ev.TID, p.ev.CPU, p.ev.Ring = e.PID, e.TID, e.CPU, e.Ring
	p.derived.Start, p.derived.End = j.list.event(n, &p.start), e
	if j.spec.NeedKey {
		j.frame.Reset(e)
		p.slots[0] = j.in[e.Stream.Index].Key.Value(&j.frame)
		p.derived.Slots = p.slots[:1]
	}
	j.matches.out = append(j.matches.out, &p.ev)
	j.matches.spent = append(j.matches.spent, n)
	if len(j.matches.out) == batch {
		j.flush()
	}
}

func (j *Join) flush() {
	if len(j.matches.out) > 0 {
		j.next.Events(j.matches.out)
		j.matches.out = j.matches.out[:0]
	}
	j.list.free(j.matches.spent...)
	j.matches.spent = j.matches.spent[:0]
}

// wait makes e wait in row, or under the key that find left if row is negative.
// n is the event that waits there now.
func (j *Join) wait(row, n int32, e *event.Event) {
	if n != nobody {
		if j.list.at[n].time > e.Time {
			j.tally.stats.Cancelled++ // e is out of order
			if j.spec.Streams != nil {
				j.leaves(e, Cancelled, e.Time)
			}
			return
		}
		j.tally.stats.Replaced++
		if j.spec.Streams != nil {
			j.leaves(j.list.event(n, &j.matches.gone), Replaced, e.Time)
		}
		j.list.unlink(n)
	} else {
		for j.list.crowded(&j.spec.Bounds) {
			j.evict()
		}
		if row < 0 {
			row = j.rows.insert(j.key.num, j.key.pack)
		}
		n = j.list.take()
		j.rows.at[row] = n
		j.rows.empty--
	}
	j.list.put(n, row, e)
	j.list.opened(n, e)
	if j.list.count > j.tally.stats.WaitingPeak {
		j.tally.stats.WaitingPeak = j.list.count
	}
}

// sweep takes the keys that nobody waits under out of the table once they are
// many compared with the others.
func (j *Join) sweep() {
	if j.rows.empty > max(j.list.count, len(j.rows.at)/4) {
		j.rows.sweep()
	}
}
