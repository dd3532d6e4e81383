package fold

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// A Spec describes a Fold.
type Spec struct {
	// Key is the key, one state machine for each value.
	Key *flow.Fn
	// Step runs for each event, with the state of its key in the frame.
	Step *flow.Fn
	// Flush, if any, runs at the end of an interval for every key that is
	// not in its initial state. Its event has FlushStream, the time of the
	// end, and the key in slot 0.
	Flush       *expr.Program
	FlushStream *event.Stream
	// Init and Texts are the initial state.
	Init  []int64
	Texts []string
	// Out is the stream of emitted events, whose fields are slots in the
	// order of the values; nil if the functions emit nothing.
	Out *event.Stream
	// Stacks, if any, tell the stack of the event at hand, by stream; it is
	// the last slot of an emitted event. nil is a stream without stacks.
	Stacks []func(e *event.Event) uint64
	// Subject makes the key, a number, one more slot of emitted events, behind
	// all others.
	Subject bool
	// Begin, if it is not 0, is one more than the slot that says when the
	// state began: the event that changes it is kept, and is the Start of all
	// events emitted from then on, whose End is the event at hand.
	Begin int
	Asking
	// Opens get the begins and ends of states, if Begin is not 0.
	Opens []flow.Opens
	Bounds
	// ByRing says that no key has events in several rings, so that a loss in
	// one ring leaves the keys of others alone.
	ByRing bool
}

// Asking lets functions look up states of other folds.
type Asking struct {
	// LookUp returns the state that another fold has for a key.
	LookUp func(of any, key expr.Arg) (numbers []int64, texts [][]byte, ok bool)
	// Asks lists these folds, by the index that functions use.
	Asks map[any]*Spec
}

// A Fold is a flow.Sink.
type Fold struct {
	spec Spec
	next flow.Sink

	keys  keyTable
	state states
	look  lookAhead

	frame       expr.Frame
	lookupFrame expr.Frame // frame for subject, which runs while frame is in use
	initials
	out   emitBuffer
	errs  flow.Errors
	stats Stats
}

// A keyTable finds the row of a key.
type keyTable struct {
	ints  *key.Ints
	texts *key.Texts
	pack  []byte // the key at hand, if it is not an integer
	limit int
	ahead bool // keys may be evaluated ahead of their step: see grouped
}

// states holds the states of all keys.
type states struct {
	// rows has for each row of the key table two words of its own, see rowKey and
	// rowMeta, and the slots. Together, so that an event touches one or two cache
	// lines.
	rows   []int64
	stride int
	names  [][]byte      // text slots of all rows
	begins []event.Event // the event that began the state of each row, if they are kept
	hand   int32         // where the search for a victim goes on
	full   int           // number of rows at which sweep runs next
}

// A lookAhead is the working memory of grouped. The sum of the loaded values is
// kept so that the compiler does not remove the loads.
type lookAhead struct {
	keys    [group]int64
	found   [group]int32
	touched int64
}

// The words of a row in front of its slots.
const (
	rowKey  = iota // the key, if it is an integer
	rowMeta        // 0: free; else flags and the ring of the first event
	rowHead

	live  = 1
	used  = 2 // used since evict's hand last passed
	ringS = 8 // shift of the ring
)

// Stats counts emitted events, and evicted and broken keys, since the last call of Loss.
type Stats struct {
	Emitted uint64
	Evicted uint64 // keys pushed out by the limit
	Broken  uint64 // keys whose state was dropped because of a loss
}

// New returns a Fold that hands emitted events to next.
func New(s Spec, next flow.Sink) *Fold {
	f := &Fold{
		spec:  s,
		next:  next,
		keys:  keyTable{limit: s.Limit},
		state: states{stride: rowHead + len(s.Init)},
	}
	if f.keys.limit <= 0 {
		f.keys.limit = key.DefaultLimit
	}
	integer := true
	s.Key.Each(func(p *expr.Program) { integer = integer && p.Type.Numeric() })
	if integer {
		f.keys.ints = key.NewInts(f.keys.limit)
		p := s.Key.One()
		f.keys.ahead = p != nil && p.Node != nil && expr.Pure(p.Node)
	} else {
		f.keys.texts = key.NewTexts(f.keys.limit)
	}
	f.bound(s.Memory.Part("states"))
	f.out.init(s.Out, s.Stacks)
	f.frame.Emit, f.frame.LookUp = f.out.emit, s.LookUp
	for _, t := range s.Texts {
		f.texts = append(f.texts, []byte(t))
	}
	if s.Subject && f.keys.ints != nil {
		f.out.subject = f.subject
	}
	return f
}

// Events implements flow.Sink.
func (f *Fold) Events(evs []*event.Event) {
	// Fast path: one stream with an integer key, and no text in the state.
	if f.keys.ints != nil && len(f.spec.Texts) == 0 && f.spec.Begin == 0 && f.spec.Key.One() != nil &&
		f.spec.Step.One() != nil {
		if f.keys.ints.Len() < manyKeys || !f.keys.ahead {
			f.integers(evs)
		} else {
			f.grouped(evs)
		}
	} else {
		f.any(evs)
	}
	f.out.flush(f.next, &f.stats)
}

func (f *Fold) any(evs []*event.Event) {
	for _, e := range evs {
		f.frame.Reset(e)
		f.step(e, f.row(e))
	}
}

// step runs the step function on a row; key.None is no row: the key failed.
func (f *Fold) step(e *event.Event, r int32) {
	if r >= 0 {
		f.point(r)
		if f.spec.Begin > 0 {
			f.stepFrom(e, r)
		} else {
			f.spec.Step.For(e).Run(&f.frame)
		}
	}
	if f.frame.Err != nil {
		f.errs.Note(&f.frame)
	}
	if len(f.out.events) >= batch {
		f.out.flush(f.next, &f.stats)
	}
}

// stepFrom runs the step function on a row whose state began with an event that
// is kept.
func (f *Fold) stepFrom(e *event.Event, r int32) {
	since := &f.frame.State[f.spec.Begin-1]
	before := *since
	f.out.start, f.out.end = &f.state.begins[r], e
	f.spec.Step.For(e).Run(&f.frame)
	f.out.start, f.out.end = nil, nil
	if *since != before {
		e.Keep(&f.state.begins[r])
		f.changed(r, before, *since)
	}
}

// point makes the frame work on a row.
func (f *Fold) point(r int32) {
	at := int(r) * f.state.stride
	f.frame.State = f.state.rows[at+rowHead : at+f.state.stride : at+f.state.stride]
	if n := len(f.spec.Texts); n > 0 {
		f.frame.Texts = f.state.names[int(r)*n : int(r+1)*n]
	}
}

// row finds the row of e's key and makes it if it is new.
func (f *Fold) row(e *event.Event) int32 {
	p := f.spec.Key.For(e)
	if f.keys.ints != nil {
		k := p.Int(&f.frame)
		if f.frame.Err != nil {
			return key.None
		}
		r, fresh := f.keys.ints.Insert(k)
		if fresh || r == key.None {
			return f.freshInt(e, k, r)
		}
		f.state.rows[int(r)*f.state.stride+rowMeta] |= used
		return r
	}
	f.keys.pack = key.Append(f.keys.pack[:0], p, &f.frame)
	if f.frame.Err != nil {
		return key.None
	}
	r, fresh := f.keys.texts.Insert(f.keys.pack)
	if r == key.None {
		f.evict()
		r, fresh = f.keys.texts.Insert(f.keys.pack)
	}
	if fresh {
		f.fresh(e, r)
	} else {
		f.state.rows[int(r)*f.state.stride+rowMeta] |= used
	}
	return r
}

// freshInt gives a new key its row, another's if the table is full.
func (f *Fold) freshInt(e *event.Event, k int64, r int32) int32 {
	if r == key.None {
		f.evict()
		r, _ = f.keys.ints.Insert(k)
	}
	f.fresh(e, r)
	f.state.rows[int(r)*f.state.stride+rowKey] = k
	return r
}

// fresh makes the initial state of a row.
func (f *Fold) fresh(e *event.Event, r int32) {
	at := int(r) * f.state.stride
	if at == len(f.state.rows) {
		if f.size() >= max(f.state.full, leastSwept) {
			f.sweep()
		}
		f.state.rows = append(f.state.rows, make([]int64, f.state.stride)...)
		for range f.spec.Texts {
			f.state.names = append(f.state.names, nil)
		}
		if f.spec.Begin > 0 {
			f.state.begins = append(f.state.begins, event.Event{})
		}
	}
	if f.spec.Begin > 0 {
		f.state.begins[r].Stream = nil // may be left from another key
	}
	f.state.rows[at+rowMeta] = live | int64(e.Ring)<<ringS
	copy(f.state.rows[at+rowHead:], f.spec.Init)
	for i, s := range f.spec.Texts {
		t := &f.state.names[int(r)*len(f.spec.Texts)+i]
		*t = append((*t)[:0], s...)
	}
}

// integers is Events for folds with one stream, an integer key and no texts.
func (f *Fold) integers(evs []*event.Event) {
	kp, run := f.spec.Key.One().Int, f.spec.Step.One().Run
	frame := &f.frame
	for _, e := range evs {
		frame.Reset(e)
		k := kp(frame)
		if frame.Err != nil {
			f.errs.Note(frame)
			continue
		}
		r, fresh := f.keys.ints.Insert(k)
		if fresh || r == key.None {
			r = f.freshInt(e, k, r)
		} else {
			f.state.rows[int(r)*f.state.stride+rowMeta] |= used
		}
		at := int(r) * f.state.stride
		frame.State = f.state.rows[at+rowHead : at+f.state.stride : at+f.state.stride]
		run(frame)
		if frame.Err != nil {
			f.errs.Note(frame)
		}
		if len(f.out.events) >= batch {
			f.out.flush(f.next, &f.stats)
		}
	}
}

// manyKeys is the number of keys from which their states are larger than the
// caches.
const manyKeys = 1 << 14

// group is the number of events that grouped takes at a time.
const group = 64

// grouped is integers for many keys. Each event misses the caches twice, for
// its key and for its state. It takes the events in groups: all keys, then all
// places in the table, then all states are looked at, so that the memory of a
// group is fetched at once; then the functions run.
func (f *Fold) grouped(evs []*event.Event) {
	key := f.spec.Key.One()
	frame := &f.frame
	for len(evs) > 0 {
		n := min(group, len(evs))
		for i, e := range evs[:n] {
			frame.Reset(e)
			f.look.keys[i] = key.Int(frame) // evaluated again below, with its error
		}
		f.keys.ints.FindAll(f.look.keys[:n], f.look.found[:n])
		for _, r := range f.look.found[:n] {
			if r >= 0 {
				f.look.touched += f.state.rows[int(r)*f.state.stride+rowMeta]
			}
		}
		f.integers(evs[:n])
		evs = evs[n:]
	}
}

// Lost implements flow.Sink: the lost events may have been of any key, unless
// keys do not span rings.
func (f *Fold) Lost(ring int32, n uint64, t event.Time) {
	for r := range int32(f.size()) {
		meta := f.state.rows[int(r)*f.state.stride+rowMeta]
		if meta == 0 || f.spec.ByRing && int32(meta>>ringS) != ring {
			continue
		}
		if !f.initial(r) {
			f.stats.Broken++
		}
		f.remove(r)
	}
	f.next.Lost(ring, n, t)
}

// size is the number of rows, free ones included.
func (f *Fold) size() int { return len(f.state.rows) / f.state.stride }

// initial reports that the row's state is the initial one.
func (f *Fold) initial(r int32) bool {
	at := int(r) * f.state.stride
	if !slices.Equal(f.state.rows[at+rowHead:at+f.state.stride], f.spec.Init) {
		return false
	}
	for i, s := range f.spec.Texts {
		if string(f.state.names[int(r)*len(f.spec.Texts)+i]) != s {
			return false
		}
	}
	return true
}

// leastSwept is the number of rows below which sweep does nothing.
const leastSwept = 1 << 12

// sweep removes the keys that are back in their initial state before the rows
// grow. So there are at most twice as many rows as needed.
func (f *Fold) sweep() {
	left := 0
	for r := range int32(f.size()) {
		switch {
		case f.state.rows[int(r)*f.state.stride+rowMeta] == 0:
		case f.initial(r):
			f.remove(r)
		default:
			left++
		}
	}
	f.state.full = 2 * left
}

// remove forgets a key.
func (f *Fold) remove(r int32) {
	f.broke(r)
	row := f.state.rows[int(r)*f.state.stride:]
	if f.keys.ints != nil {
		f.keys.ints.Delete(row[rowKey])
	} else {
		f.keys.texts.Delete(f.keys.texts.Key(r))
	}
	row[rowMeta] = 0
}

// evict makes room for a key. A hand goes round the rows: it takes the first
// that is in its initial state, or that was not used since the hand last came
// by. This is nearly the least recently used, without a list that every event
// would have to change.
func (f *Fold) evict() {
	for {
		if f.state.hand++; int(f.state.hand) >= f.size() {
			f.state.hand = 0
		}
		meta := &f.state.rows[int(f.state.hand)*f.state.stride+rowMeta]
		switch {
		case *meta == 0:
		case f.initial(f.state.hand):
			f.remove(f.state.hand)
			return
		case *meta&used == 0:
			f.stats.Evicted++
			f.remove(f.state.hand)
			return
		default:
			*meta &^= used
		}
	}
}

// Flush runs the flush function for every key that is not in its initial
// state, oldest rows first, and hands on the emitted events.
func (f *Fold) Flush(now event.Time) {
	if f.spec.Flush == nil {
		return
	}
	e := f.spec.flushEvent()
	e.Time = now
	for r := range int32(f.size()) {
		if f.state.rows[int(r)*f.state.stride+rowMeta] == 0 || f.initial(r) {
			continue
		}
		e.Derived.Slots[0] = f.keyOf(r)
		f.frame.Reset(e)
		f.point(r)
		if f.spec.Flush.Run(&f.frame); f.frame.Err != nil {
			f.errs.Note(&f.frame)
		}
		if len(f.out.events) >= batch {
			f.out.flush(f.next, &f.stats)
		}
	}
	f.out.flush(f.next, &f.stats)
}

// subject is the key of the state machine that handles e.
func (f *Fold) subject(e *event.Event) event.Value {
	if e.Stream == f.spec.FlushStream {
		return e.Derived.Slots[0]
	}
	f.lookupFrame.Reset(e)
	return event.IntOf(f.spec.Key.For(e).Int(&f.lookupFrame))
}

func (f *Fold) keyOf(r int32) event.Value {
	p := f.spec.Key.Any()
	if f.keys.ints != nil {
		return key.ValueOf(p, f.state.rows[int(r)*f.state.stride+rowKey])
	}
	v, _ := key.Take(f.keys.texts.Key(r), p)
	return v
}

// Stats returns the counters since the last call of Loss.
func (f *Fold) Stats() Stats { return f.stats }

// Errors returns the failed evaluations since the last call of Loss.
func (f *Fold) Errors() *flow.Errors { return &f.errs }

// Loss returns the losses of the emitted events since the last call.
func (f *Fold) Loss() event.Loss {
	l := event.Loss{Broken: f.stats.Broken, Evicted: f.stats.Evicted, Errors: f.errs.N}
	f.stats = Stats{}
	f.errs.N = 0
	return l
}
