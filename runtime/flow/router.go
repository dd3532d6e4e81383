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
	// Remap replaces the source's streams, by their index, with those that
	// the operators know: none drops the event, several make copies of it.
	// Nil means that both are the same.
	Remap [][]*event.Stream
	// Self is ppscript: of streams that only printers read (see Others) its samples
	// are left out, and not counted.
	Self Self
	// Limit stops the flow after that many samples; 0 is no limit. With Lines
	// it is of events that are shown: who shows them asks Show.
	Limit uint64
	Lines bool

	filters  []*expr.Program // by stream; nil lets it pass
	printed  []bool          // by stream: only printers read it
	splits   []bool          // by stream: its events come alone
	inner    []bool          // by stream: its events are no samples of the run
	ends     []event.Time    // by ring: of its last loss
	routes   [][]int         // by stream: indices of sinks
	sinks    []Sink
	bufs     [][]*event.Event
	all      bool // one sink, which takes every stream
	kept     []*event.Event
	mapped   []*event.Event
	passed   []*event.Event
	frame    expr.Frame
	copies   []event.Event
	shown    uint64
	Samples  uint64
	LostN    uint64
	Last     event.Time
	First    event.Time
	Throttle uint64
}

// Add registers a sink for some streams, by index.
func (r *Router) Add(s Sink, streams []int, total int) {
	for len(r.routes) < total {
		r.routes = append(r.routes, nil)
	}
	i := len(r.sinks)
	r.sinks = append(r.sinks, s)
	r.bufs = append(r.bufs, nil)
	for _, st := range streams {
		r.routes[st] = append(r.routes[st], i)
	}
	r.all = len(r.sinks) == 1 && len(streams) == total
	printer, prints := s.(*Others)
	for len(r.printed) < total {
		r.printed = append(r.printed, true)
	}
	for _, st := range streams {
		r.printed[st] = r.printed[st] && prints && printer.about(st).Whom == Doer
	}
}

// Done reports that the limit is reached.
func (r *Router) Done() bool {
	if r.Lines {
		return r.Limit > 0 && r.shown >= r.Limit
	}
	return r.Limit > 0 && r.Samples >= r.Limit
}

// Show counts an event that is to be shown; false if it is beyond the limit.
func (r *Router) Show() bool {
	if r.Lines && r.Done() {
		return false
	}
	r.shown++
	return true
}

// Split has every event of a stream come to its sinks in a slice of its own,
// after all sinks have seen everything before it.
func (r *Router) Split(stream int) {
	for len(r.splits) <= stream {
		r.splits = append(r.splits, false)
	}
	r.splits[stream] = true
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
		for _, s := range r.sinks {
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
	if r.filters != nil {
		evs = r.filter(evs)
	}
	if r.Lines && r.Limit > 0 {
		r.oneByOne(evs)
		return
	}
	r.deliver(r.count(evs))
}

// oneByOne has everything end with the event that makes the last line: results
// beside the lines are of the same events.
func (r *Router) oneByOne(evs []*event.Event) {
	for i := range evs {
		if r.Done() {
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
	}
	r.Last = max(r.Last, evs[len(evs)-1].Time)
	if r.splits != nil {
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
	if r.inner == nil {
		evs = evs[:min(uint64(len(evs)), left)]
		r.Samples += uint64(len(evs))
		return evs
	}
	for i, e := range evs {
		if n := e.Stream.Index; n < len(r.inner) && r.inner[n] {
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

// Inner says that other events are made from those of a stream: the operator
// that makes them counts them, not the router.
func (r *Router) Inner(stream int) {
	for len(r.inner) <= stream {
		r.inner = append(r.inner, false)
	}
	r.inner[stream] = true
}

// split routes the events of some streams one at a time.
func (r *Router) split(evs []*event.Event) {
	start := 0
	for i, e := range evs {
		if n := e.Stream.Index; n < len(r.splits) && r.splits[n] {
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
	if r.all {
		r.sinks[0].Events(evs)
		return
	}
	for _, e := range evs {
		for _, i := range r.routes[e.Stream.Index] {
			r.bufs[i] = append(r.bufs[i], e)
		}
	}
	for i, buf := range r.bufs {
		if len(buf) > 0 {
			r.bufs[i] = buf[:0]
			r.sinks[i].Events(buf)
		}
	}
}

// others takes the samples of ppscript out that nobody else counts on.
func (r *Router) others(evs []*event.Event) []*event.Event {
	r.kept = r.kept[:0]
	for _, e := range evs {
		if !r.printed[e.Stream.Index] || !r.Self.did(e, About{}) {
			r.kept = append(r.kept, e)
		}
	}
	r.Self.Held += uint64(len(evs) - len(r.kept))
	return r.kept
}

// Filter gives a stream a filter that stands for the kernel's, where there is
// no kernel or where it cannot: events that do not pass count as little as
// those that the kernel leaves out.
func (r *Router) Filter(stream int, p *expr.Program) {
	for len(r.filters) <= stream {
		r.filters = append(r.filters, nil)
	}
	r.filters[stream] = p
}

// filter keeps the events that pass their stream's filter. One that cannot
// be evaluated does not pass, as in the kernel.
func (r *Router) filter(evs []*event.Event) []*event.Event {
	r.passed = r.passed[:0]
	for _, e := range evs {
		if n := e.Stream.Index; n < len(r.filters) && r.filters[n] != nil {
			r.frame.Reset(e)
			if ok := r.filters[n].Bool(&r.frame); !ok || r.frame.Err != nil {
				r.frame.Err = nil
				continue
			}
		}
		r.passed = append(r.passed, e)
	}
	return r.passed
}

// remap puts the operators' streams into the events. An event that several
// streams want is copied for all but the first; the copies die with the call.
func (r *Router) remap(evs []*event.Event) []*event.Event {
	r.mapped, r.copies = r.mapped[:0], r.copies[:0]
	for _, e := range evs {
		to := r.Remap[e.Stream.Index]
		// Fast path: one stream wants it.
		if len(to) == 1 {
			e.Stream = to[0]
			r.mapped = append(r.mapped, e)
			continue
		}
		for i, st := range to {
			c := e
			if i < len(to)-1 {
				if len(r.copies) == cap(r.copies) {
					// A new array: pointers into the old one stay valid.
					r.copies = make([]event.Event, 0, 2*cap(r.copies)+64)
				}
				r.copies = append(r.copies, *e)
				c = &r.copies[len(r.copies)-1]
			}
			c.Stream = st
			r.mapped = append(r.mapped, c)
		}
	}
	return r.mapped
}

// Absorb adds the counters of o, which saw other events, and clears them.
func (r *Router) Absorb(o *Router) {
	r.Samples += o.Samples
	r.Self.Held += o.Self.Held
	o.Self.Held = 0
	r.LostN += o.LostN
	r.Throttle += o.Throttle
	r.Last = max(r.Last, o.Last)
	if r.First == 0 || o.First != 0 && o.First < r.First {
		r.First = o.First
	}
	o.Samples, o.LostN, o.Throttle, o.First, o.Last = 0, 0, 0, 0, 0
}
