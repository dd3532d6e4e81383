package timeline

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/text/plain"
)

// Options are the options of a Builder.
type Options struct {
	Writers []Writer
	// Comm returns the name of an event's thread at the time of the event; nil
	// leaves threads without names.
	Comm func(e *event.Event) string
	// Process returns the process of a thread without events, -1 if unknown. It may be
	// nil.
	Process func(tid int32) int32
	// Stacks reports whether the events of a stream have stacks.
	Stacks func(s *event.Stream) bool
}

// Missing is the name of the track group with the counters of missing events.
const Missing = "events missing"

// A Builder makes items from events, which must come in time order. It is used by one
// goroutine.
type Builder struct {
	opt      Options
	kinds    []*kind // by stream
	args     int     // number of arguments made so far
	tracks   tracks
	wakes    wakes
	item     Item
	losses   map[string]*Track
	counters counters
	lost     uint64
}

// New makes a Builder.
func New(o Options) *Builder {
	return &Builder{opt: o, tracks: newTracks(), wakes: newWakes(), losses: map[string]*Track{},
		counters: newCounters()}
}

// Events makes the items of a batch of events.
func (b *Builder) Events(evs []*event.Event) {
	for _, e := range evs {
		b.event(e)
	}
}

func (b *Builder) event(e *event.Event) {
	k := b.kindOf(e)
	it := &b.item
	*it = Item{Time: e.Time, Event: e, Args: k.args, Name: k.name}
	switch k.shape {
	case switches:
		b.switched(k, e)
		return
	case wakes1:
		b.woke(k, e)
		return
	case pairs:
		b.pair(k, e)
	case derived:
		b.addDerived(k, e)
	default:
		it.Track = b.tracks.of(b, e)
		if it.Stack = k.stackOf(e); k.shape == samples {
			it.Kind = Sample
			if e.Stream.Members != nil {
				it.Weight, _ = e.Stream.Members.Member(e, event.MemberPeriod)
			}
		}
	}
	b.write()
}

func (b *Builder) write() {
	for _, w := range b.opt.Writers {
		w.Write(&b.item)
	}
}

// pair makes a slice of a pair. The events or their key determine the thread.
func (b *Builder) pair(k *kind, e *event.Event) {
	it, d := &b.item, e.Derived
	it.Kind, it.Time, it.End = Slice, d.Start.Time, e.Time
	if k.begin != nil { // a part of a span, made by package overlap
		it.Time = event.Time(k.begin.Value(e).Int())
		it.End = it.Time + event.Time(k.took.Value(e).Int())
	}
	if d.End != nil {
		it.EndStack = k.end.stackOf(d.End)
	}
	it.Stack = k.start.stackOf(d.Start)
	lane := -1
	if k.depth != nil {
		lane = int(k.depth.Value(e).Int())
	}
	var key event.Value
	if len(d.Slots) > 0 {
		key = d.Slots[0]
	}
	switch tid, ok := k.thread(key, d); {
	case ok:
		it.Track = b.tracks.below(b.tracks.named(b, e, tid), k.name, it, lane)
	case d.End == nil || d.Start.TID == d.End.TID && d.Start.TID >= 0:
		it.Track = b.tracks.below(b.tracks.of(b, d.Start), k.name, it, lane)
	default:
		it.Track = b.tracks.below(b.tracks.group(k.name), keyName(key), it, lane)
	}
}

func keyName(key event.Value) string {
	if key.Kind == event.None {
		return "all"
	}
	return key.String()
}

// addDerived shows an event that a fold or another operator emitted.
func (b *Builder) addDerived(k *kind, e *event.Event) {
	it := &b.item
	var thread *Track // make only one track: every track that is made is shown
	if k.tid != nil && k.tid.Value(e).Numeric() {
		thread = b.tracks.named(b, e, int32(k.tid.Value(e).Int()))
	} else {
		thread = b.tracks.of(b, e)
	}
	if it.End = e.Time; k.took != nil {
		if v := k.took.Value(e); v.Numeric() && v.Int() >= 0 {
			it.Kind, it.Time = Slice, e.Time-event.Time(v.Int())
		}
	}
	it.Track = b.tracks.below(thread, k.name, it, -1)
}

// Lost counts n more lost events up to a time.
func (b *Builder) Lost(n uint64, until event.Time) {
	b.lost += n
	b.Count("lost", float64(b.lost), until)
}

// Losses sets the counters of each kind of loss up to a time, counted since the
// beginning.
func (b *Builder) Losses(l *event.Loss, now event.Time) {
	for _, c := range l.Counts() {
		if c.N > 0 || b.losses[c.Name] != nil {
			b.Count(c.Name, float64(c.N), now)
		}
	}
}

// Observed sets the counter of the share of an interval's events that were left out for a budget.
func (b *Builder) Observed(c *result.Cost, now event.Time) {
	const name = "left out for the budget, % of events"
	switch {
	case c.Sampled():
		b.Count(name, 100*(1-c.Events*c.Time), now)
	case b.losses[name] != nil:
		b.Count(name, 0, now)
	}
}

// Count sets a counter of missing events.
func (b *Builder) Count(name string, n float64, now event.Time) {
	t := b.losses[name]
	if t == nil {
		t = b.tracks.track(Track{Kind: OfCounter, Name: name, Parent: b.tracks.group(Missing)})
		b.losses[name] = t
	}
	if now < t.end {
		now = t.end // another ring has reported a later time
	}
	t.end = now
	b.item = Item{Kind: Counter, Time: now, Track: t, Name: name, Value: n}
	b.write()
}

// Side processes side records: threads that get other names, and threads that
// end.
func (b *Builder) Side(e *event.Event) {
	switch e.Kind {
	case event.Fork:
		b.tracks.process(e)
	case event.Exit:
		delete(b.tracks.threads, e.TID)
		delete(b.tracks.pids, e.TID)
	case event.Comm:
		b.tracks.process(e)
		if t := b.tracks.threads[e.TID]; t != nil && b.opt.Comm != nil {
			t.Name = string(plain.Append(nil, b.opt.Comm(e)))
			for _, w := range b.opt.Writers {
				w.Rename(t)
			}
		}
	}
}

// ForgetStacks tells the writers that the numbers of stacks will be reused for
// other stacks.
func (b *Builder) ForgetStacks() {
	for _, w := range b.opt.Writers {
		w.ForgetStacks()
	}
}

// stackOf returns the stack of an event, stack.None if it has none.
func (k *kind) stackOf(e *event.Event) stack.ID {
	if k == nil || !k.stacks || e.Stream.Members == nil {
		return stack.None
	}
	id, ok := e.Stream.Members.Member(e, event.MemberCallchain)
	if !ok {
		return stack.None
	}
	return stack.ID(id)
}
