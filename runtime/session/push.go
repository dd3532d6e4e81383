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

// This file sends events to other machines, for the attribute push=.

// An outlet delivers events by sending them to one address.
type outlet struct {
	plan.NoDelivery
	to      *results
	env     *env // describes the events and their sources
	clock   *wallclock.Clock
	in      *sources
	op      *plan.PushRun
	sender  *relay.Sender
	dropped uint64 // events dropped so far, at the last check
	// numbers maps stacks to the numbers under which they were sent, for
	// generation as of the stack table. nameless lists the sent stacks that
	// have functions without names.
	numbers  map[stack.ID]uint64
	as       int
	nameless []stack.ID
	looked   time.Time // last search for new names
}

// sendLag is the age at which an event is certainly in its ring. A sender
// promises that no event older than the last poll minus sendLag will follow.
const sendLag = 50 * event.Time(time.Millisecond)

// sentUntil returns the time up to which all events have been sent; last is the
// time of the last event. It is computed from the last poll, not from the present,
// because this thread may have waited for a CPU since the rings were read.
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

// send ends a batch of sent events, and shows messages of other goroutines.
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
	stacks := map[*event.Schema]bool{} // all streams of an event have the same form
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

// number returns the number under which a stack is sent. A new stack is sent
// first.
//
// Fast path: the stack was sent before.
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

// nameTime is the period in which functions without a name are looked up again.
// Code of JIT compilers gets its names when the compiler writes them.
const nameTime = time.Second

// nameAgain forgets the stacks that were sent without names, so that they are
// sent again with names.
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

// round ends a batch of sent events. It tells receivers that all events up to
// until have been sent.
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

// asking reports that some receiver waits for a message that no events came.
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
