package session

import (
	"context"
	"os"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/source/relay"
	"ppscript/runtime/source/wallclock"
	"ppscript/runtime/stack"
)

// This file sends the events that the plan wants sent.

// An outlet is the delivery of what is sent: one address.
type outlet struct {
	plan.NoDelivery
	to      *results
	env     *env // tells of the events, and where they come from
	clock   *wallclock.Clock
	in      *sources
	op      *plan.PushRun
	sender  *relay.Sender
	dropped uint64 // dropped, at the last look
	// numbers are those under which stacks were sent, as of a generation of
	// the table; nameless have functions without names.
	numbers  map[stack.ID]uint64
	as       int
	nameless []stack.ID
	looked   time.Time // at the names that are new
}

// sendLag is how far behind the last look at the rings a sender says that nothing
// older will come: an event is in its ring by then.
const sendLag = 50 * event.Time(time.Millisecond)

// sentUntil is the time up to which everything has been sent, after an event of
// the time last. Of now nobody knows: this thread may have waited for its CPU since
// the rings were read.
func (s *sources) sentUntil(last event.Time, final bool) event.Time {
	if final || s.live == nil || s.polled <= sendLag {
		return last
	}
	until := s.polled - sendLag
	if m, ok := s.feeder.(*order.Merge); ok {
		until = min(until, m.Limit())
	}
	return max(last, until)
}

// send ends a batch of what is sent.
func (r *run) send(final bool) error {
	err := r.results.deliveries.send(r.in.sentUntil(r.instance.Router.Last, final))
	r.env.msgs.sayHeard()
	return err
}

// Elsewhere implements plan.Delivery.
func (*outlet) Elsewhere() bool { return true }

// Begin connects to the address.
func (o *outlet) Begin(ctx context.Context, op plan.Running) error {
	p := op.(*plan.PushRun)
	if err := o.to.cfg.permit(plan.Use{Kind: plan.Sends, Name: p.To, ScriptText: p.To}); err != nil {
		return err
	}
	about := perfdata.WriteOptions{
		Version: "ppscript",
		Cmdline: os.Args,
		Clock:   perfdata.Clock{At: o.clock.At, Wall: o.clock.Wall},
	}
	about.Tracefs = o.env.events.here.Tracefs()
	if o.env.rec.file != nil {
		about.Info = o.env.rec.file.Info()
	}
	how := relay.Options{
		Bytes: o.to.cfg.Options.Reading.OrderBytes,
		Token: o.to.cfg.Options.Reading.Token,
		TLS:   o.to.cfg.Options.Reading.TLS,
		Say:   o.to.msgs.elsewhere(),
	}
	if o.in.live != nil {
		how.Joined = o.in.live.Wake
	}
	sender, err := relay.NewSender(ctx, p.To, o.env.sentStreams(p), about, how)
	if err != nil {
		return err
	}
	o.op, o.sender = p, sender
	p.Lose = sender.Lost
	member := func(e *event.Event, m event.Member) uint64 {
		v, _ := e.Stream.Members.Member(e, m)
		return v
	}
	p.Send = func(id uint64, e *event.Event) {
		number := uint64(0)
		if p.Of[id-1].Stack != nil {
			number = o.number(o.to.stacks, stack.ID(member(e, event.MemberCallchain)))
		}
		sender.Send(id, e, member(e, event.MemberPeriod), e.Stream.Comm(e), number)
	}
	return nil
}

// sentStreams describes the streams of the events that are sent.
func (w *env) sentStreams(p *plan.PushRun) (streams []perfdata.StreamInfo) {
	stacks := map[*event.Schema]bool{} // all streams of an event look the same
	for _, e := range p.Of {
		stacks[e.Stream.Schema] = stacks[e.Stream.Schema] || e.Stack != nil
	}
	for i, e := range p.Of {
		s := relay.Describe(uint64(i+1), e.Stream.Schema, e.Stream.Label, stacks[e.Stream.Schema])
		s.System, s.Format = w.rec.formatOf(e.Stream.Schema)
		streams = append(streams, s)
	}
	return streams
}

// number is what a stack is sent as.
//
// Fast path: it was sent before.
func (o *outlet) number(w *runStacks, id stack.ID) uint64 {
	if id == stack.None {
		return 0
	}
	if o.as != w.Generation() || o.numbers == nil {
		o.numbers, o.nameless, o.as = map[stack.ID]uint64{}, nil, w.Generation()
	}
	if n, ok := o.numbers[id]; ok && o.sender.Knows(n) {
		return n
	}
	s, named := w.Sendable(id)
	if s == nil {
		return 0
	}
	n := o.sender.Stack(s)
	o.numbers[id] = n
	if !named {
		o.nameless = append(o.nameless, id)
	}
	return n
}

// nameTime is how often functions without a name are looked up again: code that
// a compiler makes at run time has one as soon as the compiler says it.
const nameTime = time.Second

// nameAgain forgets what was sent without names.
func (o *outlet) nameAgain(w *runStacks, now time.Time) {
	if len(o.nameless) == 0 || now.Sub(o.looked) < nameTime {
		return
	}
	o.looked = now
	w.refresh()
	for _, id := range o.nameless {
		delete(o.numbers, id)
	}
	o.nameless = o.nameless[:0]
}

// round ends a batch: everything up to a time has been sent.
func (o *outlet) round(until event.Time) error {
	o.nameAgain(o.to.stacks, time.Now())
	err := o.sender.Round(until)
	if n := o.sender.Dropped(); n > o.dropped {
		o.to.msgs.say("push %s: %d events were dropped for a slow receiver (%d together); "+
			"give it more memory: --order-mem", o.op.To, n-o.dropped, n)
		o.dropped = n
	}
	return err
}

// asking reports that some receiver waits to be told that there were no events.
func (ds deliveries) asking() bool {
	return slices.ContainsFunc(ds, func(d plan.Delivery) bool {
		o, sends := d.(*outlet)
		return sends && o.sender != nil && o.sender.Asking()
	})
}

func (o *outlet) Close() error {
	if o.sender == nil {
		return nil
	}
	err := o.sender.Close()
	o.to.msgs.sayHeard()
	return err
}
