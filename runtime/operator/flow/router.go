package flow

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
)

// A Router is the head of the flow: it takes the events of a source, hands
// side-band records to Side, and samples to the sinks that want their stream.
type Router struct {
	// Side takes every record that is not a sample, in its place in the
	// order, losses included. It may be nil.
	Side func(e *event.Event)
	// Remap replaces the source's streams, by their index, with streams that
	// the operators know: none drops the event, several make copies of it.
	// Nil means that both are the same.
	Remap [][]*event.Stream
	// Self is ppscript: of streams that only printers read (see Others) its samples
	// are left out, and not counted.
	Self Self
	// Limit stops the flow after that many samples; 0 is no limit. With Lines
	// it counts events that are shown: the renderer asks Show.
	Limit uint64
	Lines bool

	Counts

	by   byStream
	to   receivers
	ends []event.Time // by ring: of its last loss
	work scratch

	begins []func(t event.Time)
}

// Counts are what a Router has seen.
type Counts struct {
	Samples  uint64
	LostN    uint64
	Throttle uint64
	First    event.Time
	Last     event.Time
	shown    uint64
}

// byStream has the settings of each stream, by index.
type byStream struct {
	filters []*expr.Program // nil lets it pass
	printed []bool          // only printers read it
	splits  []bool          // its events come in slices of one
	inner   []bool          // its events are no samples of the run
	routes  [][]int         // indices of sinks
}

// receivers has the sinks, and the events that wait to be handed to each.
type receivers struct {
	sinks []Sink
	bufs  [][]*event.Event
	all   bool // one sink, which takes every stream
}

// scratch is the memory of a round's steps; it is used again in the next.
type scratch struct {
	kept   []*event.Event
	mapped []*event.Event
	passed []*event.Event
	copies []event.Event
	frame  expr.Frame
}

// Add registers a sink for some streams, by index.
func (r *Router) Add(s Sink, streams []int, total int) {
	for len(r.by.routes) < total {
		r.by.routes = append(r.by.routes, nil)
	}
	i := len(r.to.sinks)
	r.to.sinks = append(r.to.sinks, s)
	r.to.bufs = append(r.to.bufs, nil)
	for _, st := range streams {
		r.by.routes[st] = append(r.by.routes[st], i)
	}
	r.to.all = len(r.to.sinks) == 1 && len(streams) == total
	printer, prints := s.(*Others)
	for len(r.by.printed) < total {
		r.by.printed = append(r.by.printed, true)
	}
	for _, st := range streams {
		r.by.printed[st] = r.by.printed[st] && prints && printer.about(st).Whom == Doer
	}
}

// Begins sets a function that gets the time of the first sample, before the
// sinks see it.
func (r *Router) Begins(fn func(t event.Time)) { r.begins = append(r.begins, fn) }

// LimitReached reports that the limit is reached.
func (r *Router) LimitReached() bool {
	if r.Lines {
		return r.Limit > 0 && r.shown >= r.Limit
	}
	return r.Limit > 0 && r.Samples >= r.Limit
}

// Show counts an event that is to be shown; false if it is beyond the limit.
func (r *Router) Show() bool {
	if r.Lines && r.LimitReached() {
		return false
	}
	r.shown++
	return true
}

// Split makes every event of a stream come to its sinks in a slice of its own,
// after all sinks have seen the events before it.
func (r *Router) Split(stream int) {
	for len(r.by.splits) <= stream {
		r.by.splits = append(r.by.splits, false)
	}
	r.by.splits[stream] = true
}

// LossEnd is when the last loss of a ring ended; 0 if that is not known.
func (r *Router) LossEnd(ring int32) event.Time {
	if ring < 0 || int(ring) >= len(r.ends) {
		return 0
	}
	return r.ends[ring]
}

// Events takes records of any kind.
func (r *Router) Events(evs []*event.Event) {
	start := 0
	for i, e := range evs {
		if e.Kind == event.Sample {
			continue
		}
		r.samples(evs[start:i])
		start = i + 1
		r.side(e)
	}
	r.samples(evs[start:])
}

func (r *Router) side(e *event.Event) {
	switch e.Kind {
	case event.Lost:
		r.LostN += uint64(e.Count)
		if e.Ring >= 0 {
			for int(e.Ring) >= len(r.ends) {
				r.ends = append(r.ends, 0)
			}
			r.ends[e.Ring] = e.LossEnd()
		}
		for _, s := range r.to.sinks {
			s.Lost(e.Ring, uint64(e.Count), e.Time)
		}
	case event.Throttle:
		r.Throttle++
	}
	if r.Side != nil {
		r.Side(e)
	}
}

func (r *Router) samples(evs []*event.Event) {
	if len(evs) == 0 {
		return
	}
	if r.Remap != nil {
		evs = r.remap(evs)
	}
	if r.Self.PID != 0 {
		evs = r.others(evs)
	}
	if r.by.filters != nil {
		evs = r.filter(evs)
	}
	if r.Lines && r.Limit > 0 {
		r.oneByOne(evs)
		return
	}
	r.deliver(r.count(evs))
}

// oneByOne hands out events singly, so that the flow ends exactly with the
// event of the last line, and other results have the same events.
func (r *Router) oneByOne(evs []*event.Event) {
	for i := range evs {
		if r.LimitReached() {
			return
		}
		r.deliver(r.count(evs[i : i+1]))
	}
}

// deliver hands samples to the sinks.
func (r *Router) deliver(evs []*event.Event) {
	if len(evs) == 0 {
		return
	}
	if r.First == 0 {
		r.First = evs[0].Time
		for _, begin := range r.begins {
			begin(r.First)
		}
	}
	r.Last = max(r.Last, evs[len(evs)-1].Time)
	if r.by.splits != nil {
		r.split(evs)
		return
	}
	r.route(evs)
}

// count counts samples and ends them at the limit.
func (r *Router) count(evs []*event.Event) []*event.Event {
	left := uint64(len(evs))
	if r.Limit > 0 && !r.Lines {
		left = r.Limit - min(r.Limit, r.Samples)
	}
	// Fast path: everything is a sample.
	if r.by.inner == nil {
		evs = evs[:min(uint64(len(evs)), left)]
		r.Samples += uint64(len(evs))
		return evs
	}
	for i, e := range evs {
		if n := e.Stream.Index; n < len(r.by.inner) && r.by.inner[n] {
			continue
		}
		if left == 0 {
			return evs[:i]
		}
		left--
		r.Samples++
	}
	return evs
}

// Counted reports that it counts the samples of a stream.
func (r *Router) Counted(stream int) bool {
	return stream >= len(r.by.inner) || !r.by.inner[stream]
}

// Inner says that other events are made from those of a stream: the operator
// that makes them counts them, not the router.
func (r *Router) Inner(stream int) {
	for len(r.by.inner) <= stream {
		r.by.inner = append(r.by.inner, false)
	}
	r.by.inner[stream] = true
}

// split routes the events of some streams one at a time.
func (r *Router) split(evs []*event.Event) {
	start := 0
	for i, e := range evs {
		if n := e.Stream.Index; n < len(r.by.splits) && r.by.splits[n] {
			if i > start {
				r.route(evs[start:i])
			}
			r.route(evs[i : i+1])
			start = i + 1
		}
	}
	if start < len(evs) {
		r.route(evs[start:])
	}
}

func (r *Router) route(evs []*event.Event) {
	// Fast path: everything goes to one sink.
	if r.to.all {
		r.to.sinks[0].Events(evs)
		return
	}
	for _, e := range evs {
		for _, i := range r.by.routes[e.Stream.Index] {
			r.to.bufs[i] = append(r.to.bufs[i], e)
		}
	}
	for i, buf := range r.to.bufs {
		if len(buf) > 0 {
			r.to.bufs[i] = buf[:0]
			r.to.sinks[i].Events(buf)
		}
	}
}

// others removes the samples of ppscript from streams that only printers read.
func (r *Router) others(evs []*event.Event) []*event.Event {
	r.work.kept = r.work.kept[:0]
	for _, e := range evs {
		if !r.by.printed[e.Stream.Index] || !r.Self.concerns(e, About{}) {
			r.work.kept = append(r.work.kept, e)
		}
	}
	r.Self.HeldBack += uint64(len(evs) - len(r.work.kept))
	return r.work.kept
}

// Filter sets a filter in place of the kernel's, for recordings and for
// conditions that the kernel cannot check. Rejected events are not counted,
// like events that the kernel rejects.
func (r *Router) Filter(stream int, p *expr.Program) {
	for len(r.by.filters) <= stream {
		r.by.filters = append(r.by.filters, nil)
	}
	r.by.filters[stream] = p
}

// filter keeps the events that pass their stream's filter. If its evaluation
// fails, the event does not pass, as in the kernel.
func (r *Router) filter(evs []*event.Event) []*event.Event {
	r.work.passed = r.work.passed[:0]
	for _, e := range evs {
		if n := e.Stream.Index; n < len(r.by.filters) && r.by.filters[n] != nil {
			r.work.frame.Reset(e)
			if ok := r.by.filters[n].Bool(&r.work.frame); !ok || r.work.frame.Err != nil {
				r.work.frame.Err = nil
				continue
			}
		}
		r.work.passed = append(r.work.passed, e)
	}
	return r.work.passed
}

// remap puts the operators' streams into the events. An event that several
// streams want is copied for all but the first; the copies die with the call.
func (r *Router) remap(evs []*event.Event) []*event.Event {
	r.work.mapped, r.work.copies = r.work.mapped[:0], r.work.copies[:0]
	for _, e := range evs {
		to := r.Remap[e.Stream.Index]
		// Fast path: one stream wants it.
		if len(to) == 1 {
			e.Stream = to[0]
			r.work.mapped = append(r.work.mapped, e)
			continue
		}
		for i, st := range to {
			c := e
			if i < len(to)-1 {
				if len(r.work.copies) == cap(r.work.copies) {
					// A new array: pointers into the old one stay valid.
					r.work.copies = make([]event.Event, 0, 2*cap(r.work.copies)+64)
				}
				r.work.copies = append(r.work.copies, *e)
				c = &r.work.copies[len(r.work.copies)-1]
			}
			c.Stream = st
			r.work.mapped = append(r.work.mapped, c)
		}
	}
	return r.work.mapped
}

// Absorb adds the counters of o, which saw other events, and clears them.
func (r *Router) Absorb(o *Router) {
	r.Samples += o.Samples
	r.Self.HeldBack += o.Self.HeldBack
	o.Self.HeldBack = 0
	r.LostN += o.LostN
	r.Throttle += o.Throttle
	r.Last = max(r.Last, o.Last)
	if r.First == 0 || o.First != 0 && o.First < r.First {
		r.First = o.First
	}
	o.Samples, o.LostN, o.Throttle, o.First, o.Last = 0, 0, 0, 0, 0
}
