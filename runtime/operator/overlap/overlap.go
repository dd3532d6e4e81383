package overlap

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/key"
)

// A Splitter splits spans. The inputs that Split and Over return receive the spans.
type Splitter struct {
	spec      Spec
	next      flow.Sink
	keys      keys
	rows      []row
	knowledge []knowledge // by row, then by source of spans over others
	lasting
	items int // number of the items of all rows

	now    event.Time // time of the last begin or end of a span
	losses losses
	layers layers
	out    parts

	frame expr.Frame
	errs  flow.Errors
	stats Stats
}

// Stats has counts since the last call of Loss.
type Stats struct {
	Parts   uint64
	Evicted uint64 // spans that were given up, since the bound on kept spans or keys was hit
	NoBegin uint64 // events of a source that are no spans, since they have no begin
}

// A row holds the spans and knowledge of one key.
type row struct {
	key  int64 // if keys are numbers
	live bool
	// complete says that items has all spans over others that ended after keptUntil.
	keptUntil event.Time
	complete  bool
	split     int32 // the open spans that are to be split: the first of a list
	over      int32 // the open spans over others: the first of a list
	items     []item
	facts     []event.Value // the facts of the items, one item after another
	pruned    int           // number of items after the last prune
}

// knowledge says from which time on the open spans of a source are known for a key.
type knowledge struct {
	// seen is the time of the last begin or end, 0 if there was none. doubt, if not 0, is
	// the begin of a span whose end will not be known.
	seen, doubt event.Time
}

// An item is a span over others that has ended, or a time that is unknown.
type item struct {
	begin, end event.Time
	source     int32
	stream     int32 // unknown marks a time that is unknown
}

const unknown = -1

// openSpan is a span whose begin was observed and whose end was not yet.
type openSpan struct {
	begin  event.Time
	row    int32
	next   int32 // the next open span in the row's list
	source int32
	id     int32 // the number that the source gave it
}

// lasting holds the open spans.
type lasting struct {
	open []openSpan
	free []int32 // unused places of open
}

const none = -1 // no open span, in place of an index in open

// New returns a Splitter that hands parts to next.
func New(spec Spec, next flow.Sink) *Splitter {
	if spec.Limit <= 0 {
		spec.Limit = DefaultLimit
	}
	s := &Splitter{spec: spec, next: next}
	s.keys.init(spec.Integer, spec.Limit)
	s.out.init()
	return s
}

// A side is an input of a Splitter: it receives spans when they end, and their begins by
// flow.Opens.
type side struct {
	*Splitter
	*Source
	over  bool
	index int32
	at    []int32 // indices in open, by the number that the source gave the span

	span    event.Event // an open span, or an end without a begin
	derived event.Derived
	begun   event.Event
}

// Side is the interface of an input: a sink for spans that have ended, and a
// receiver of begins.
type Side interface {
	flow.Sink
	flow.Opens
}

// Split returns the input for the i-th source of spans that are split.
func (s *Splitter) Split(i int) Side {
	return &side{Splitter: s, Source: &s.spec.Split[i], index: int32(i)}
}

// Over returns the input for the i-th source of spans over others.
func (s *Splitter) Over(i int) Side {
	x := &side{Splitter: s, Source: &s.spec.Over[i], index: int32(i), over: true}
	s.layers.sides = append(s.layers.sides, x)
	return x
}

// Events implements flow.Sink.
func (x *side) Events(evs []*event.Event) {
	for _, e := range evs {
		d := e.Derived
		if d == nil || d.Start == nil || d.End == nil {
			x.stats.NoBegin++
			continue
		}
		x.now = max(x.now, e.Time)
		p, of := x.keyOf(e)
		x.frame.Reset(of)
		if x.over {
			if r := x.row(p, true); r >= 0 {
				x.ended(r, e)
			}
			continue
		}
		r := x.row(p, false)
		x.cut(e, r)
		if r >= 0 {
			x.prune(&x.rows[r])
		}
	}
	x.out.flush(x.next)
}

// keyOf returns the program that computes the key of a span, and the event to run it on.
func (x *side) keyOf(e *event.Event) (*expr.Program, *event.Event) {
	if x.Key != nil {
		return x.Key.For(e), e
	}
	return x.Ends.For(e.Derived.End), e.Derived.End
}

// half makes a span of which only the begin or only the end is known; the other one is nil.
func (x *side) half(begin, end *event.Event) *event.Event {
	e := begin
	if e == nil {
		e = end
	}
	x.derived.Start, x.derived.End, x.derived.Slots = begin, end, x.derived.Slots[:0]
	x.span = event.Event{Time: e.Time, PID: e.PID, TID: e.TID, CPU: e.CPU, Ring: e.Ring, Derived: &x.derived}
	if i := e.Stream.Index; i < len(x.Spans) {
		x.span.Stream = x.Spans[i]
	}
	return &x.span
}

// halfKey points the frame at an event that begins or ends a span, and returns the program
// of its key; nil if it has none.
func (x *side) halfKey(begin, end *event.Event, own *flow.Fn) *expr.Program {
	if x.Key == nil {
		e := begin
		if e == nil {
			e = end
		}
		x.frame.Reset(e)
		return own.For(e)
	}
	e := x.half(begin, end)
	x.frame.Reset(e)
	if e.Stream == nil {
		return nil
	}
	return x.Key.For(e)
}

// Opened implements flow.Opens.
func (x *side) Opened(id int32, e *event.Event) {
	x.now = max(x.now, e.Time)
	for int(id) >= len(x.at) {
		x.at = append(x.at, none)
	}
	x.at[id] = none
	p := x.halfKey(e, nil, x.Begins)
	if p == nil {
		return
	}
	r := x.row(p, true)
	if r < 0 {
		return
	}
	n := x.take()
	to := &x.rows[r]
	o := openSpan{begin: e.Time, row: r, source: x.index, id: id}
	if x.over {
		x.tell(r, e.Time)
		to = &x.rows[r]
		o.next, to.over = to.over, n
	} else {
		if !to.complete {
			to.keptUntil, to.complete = e.Time, true
		}
		o.next, to.split = to.split, n
	}
	x.open[n], x.at[id] = o, n
}

// Closed implements flow.Opens.
func (x *side) Closed(id int32) {
	n := x.opened(id)
	if n == none {
		return
	}
	x.at[id] = none
	to := &x.rows[x.open[n].row]
	list := &to.split
	if x.over {
		list = &to.over
	}
	for *list != n {
		list = &x.open[*list].next
	}
	*list = x.open[n].next
	x.free = append(x.free, n)
}

// Broke implements flow.Opens.
func (x *side) Broke(id int32) {
	if n := x.opened(id); n != none && x.over {
		o := &x.open[n]
		if k := x.of(o.row, x.index); k.doubt == 0 || o.begin < k.doubt {
			k.doubt = o.begin
		}
	}
}

// opened returns the index in open of the span with a source's number; none if there is none.
func (x *side) opened(id int32) int32 {
	if int(id) >= len(x.at) {
		return none
	}
	return x.at[id]
}

// Alone implements flow.Opens. For each key, the first end without a begin may belong to a span
// that began before the trace; later ones end no span.
func (x *side) Alone(e *event.Event) {
	if !x.over {
		return
	}
	x.now = max(x.now, e.Time)
	p := x.halfKey(nil, e, x.Ends)
	var r int32 = key.None
	if p != nil {
		r = x.rowOf(p, true)
	}
	if r < 0 { // the key is only in the begin, which was not seen: the span may be of any key
		x.losses.add(e.Time, e.Time)
		return
	}
	k := x.of(r, x.index)
	if _, doubted := x.doubted(k); k.seen == 0 && !doubted {
		k.doubt = 1
	}
	x.tell(r, e.Time)
}

// Lost implements flow.Sink: the lost events may have been of any key.
func (x *side) Lost(ring int32, n uint64, t event.Time) {
	end := t
	if x.spec.LossEnd != nil {
		end = max(t, x.spec.LossEnd(ring))
	}
	if x.losses.add(t, end) {
		x.next.Lost(ring, n, t)
	}
}

// row returns the row of a key of the frame's event; key.None if there is none. It makes the
// row if makes is set, and counts an error if the key fails.
func (s *Splitter) row(p *expr.Program, makes bool) int32 {
	r := s.rowOf(p, makes)
	if s.frame.Err != nil {
		s.errs.Note(&s.frame)
	}
	return r
}

// rowOf is row without counting errors.
func (s *Splitter) rowOf(p *expr.Program, makes bool) int32 {
	r, fresh := s.keys.find(p, &s.frame, makes)
	if r == key.None && makes && s.frame.Err == nil {
		s.sweep()
		if r, fresh = s.keys.find(p, &s.frame, makes); r == key.None {
			s.stats.Evicted++
			s.losses.add(s.now, s.now) // the spans of this key are unknown from now on
		}
	}
	if !fresh {
		return r
	}
	for int(r) >= len(s.rows) {
		s.rows = append(s.rows, row{})
	}
	for n := (int(r) + 1) * len(s.spec.Over); len(s.knowledge) < n; {
		s.knowledge = append(s.knowledge, knowledge{})
	}
	for i := range s.spec.Over {
		*s.of(r, int32(i)) = knowledge{}
	}
	old := &s.rows[r]
	*old = row{key: s.keys.number, live: true, split: none, over: none,
		items: old.items[:0], facts: old.facts[:0]}
	return r
}

// sweep removes the keys without open spans and kept items.
//
// Slow path: when there are too many keys.
func (s *Splitter) sweep() {
	for i := range s.rows {
		if r := &s.rows[i]; r.live && r.split == none && r.over == none {
			s.drop(r)
			s.keys.forget(int32(i), r.key)
			r.live = false
		}
	}
}

// take returns the index of an unused element of open.
func (s *Splitter) take() int32 {
	if n := len(s.free) - 1; n >= 0 {
		i := s.free[n]
		s.free = s.free[:n]
		return i
	}
	s.open = append(s.open, openSpan{})
	return int32(len(s.open) - 1)
}

// of returns the knowledge of a source for a key.
func (s *Splitter) of(r, source int32) *knowledge {
	return &s.knowledge[int(r)*len(s.spec.Over)+int(source)]
}

// doubted returns the time from which on the open spans of a source are not known for a
// key; false if they are known.
func (s *Splitter) doubted(k *knowledge) (from event.Time, doubted bool) {
	from, doubted = s.losses.since(k.seen)
	if k.doubt != 0 && (!doubted || k.doubt < from) {
		return k.doubt, true
	}
	return from, doubted
}

// tell records that the open spans of the source are known for the row's key from time t on. The
// time before, in which they were not known, is kept as an item.
func (x *side) tell(r int32, t event.Time) {
	k := x.of(r, x.index)
	if from, doubted := x.doubted(k); doubted {
		if x.losses.open(t) {
			return // more may be lost
		}
		x.keep(&x.rows[r], item{begin: from, end: t, stream: unknown}, x.spec.None)
		k.doubt = 0
	}
	k.seen = max(k.seen, t)
}

// ended keeps a span over others, which has ended.
func (x *side) ended(r int32, e *event.Event) {
	x.tell(r, e.Time)
	to := &x.rows[r]
	if to.split == none {
		x.drop(to)
		return
	}
	i := item{begin: e.Derived.Start.Time, end: e.Time, source: x.index, stream: int32(e.Stream.Index)}
	x.out.facts = x.factsOf(e, x.out.facts[:0])
	x.keep(to, i, x.out.facts)
}

// factsOf appends the facts of a span that its parts carry.
func (x *side) factsOf(e *event.Event, to []event.Value) []event.Value {
	progs := x.Facts[e.Stream.Index]
	for i, none := range x.spec.None {
		v := none
		if p := progs[i]; p != nil {
			x.frame.Reset(e)
			if got := p.Value(&x.frame); x.frame.Err == nil {
				v = got
			} else if e.Derived.End != nil {
				x.errs.Note(&x.frame) // an open span lacks some facts
			}
		}
		to = append(to, v)
	}
	return to
}

// keep keeps an item if the key has open spans to be split; else it drops all items of the key.
func (s *Splitter) keep(r *row, i item, facts []event.Value) {
	if r.split == none {
		s.drop(r)
		return
	}
	if len(r.items) >= 2*r.pruned+64 {
		s.prune(r)
	}
	if s.items >= s.spec.Limit {
		// The key that exceeds the bound loses its items; the items of other keys stay
		// complete.
		s.stats.Evicted += uint64(len(r.items)) + 1
		s.drop(r)
		r.keptUntil, r.complete = i.end, true
		return
	}
	s.items++
	r.items = append(r.items, i)
	r.facts = append(r.facts, facts...)
}

// drop forgets the items of a key.
func (s *Splitter) drop(r *row) {
	s.items -= len(r.items)
	r.items, r.facts, r.pruned, r.complete = r.items[:0], r.facts[:0], 0, false
}

// prune forgets the items that end before all open spans begin.
func (s *Splitter) prune(r *row) {
	if len(r.items) == 0 {
		return
	}
	since := event.MaxTime
	for n := r.split; n != none; n = s.open[n].next {
		since = min(since, s.open[n].begin)
	}
	n := 0
	for n < len(r.items) && r.items[n].end <= since {
		n++
	}
	if n > 0 {
		s.items -= n
		r.items = slices.Delete(r.items, 0, n)
		r.facts = slices.Delete(r.facts, 0, n*len(s.spec.None))
		r.keptUntil = max(r.keptUntil, min(since, s.now))
	}
	r.pruned = len(r.items)
}

// Len returns the number of kept spans and of open spans.
func (s *Splitter) Len() (kept, lasting int) { return s.items, len(s.open) - len(s.free) }

// Errors returns the failed evaluations since the last call of Loss.
func (s *Splitter) Errors() *flow.Errors { return &s.errs }

// Loss returns the losses of the parts since the last call.
func (s *Splitter) Loss() event.Loss {
	l := event.Loss{Evicted: s.stats.Evicted, Unmatched: s.stats.NoBegin,
		EndsAlone: s.stats.NoBegin, Errors: s.errs.N}
	s.stats = Stats{}
	s.errs.N = 0
	return l
}
