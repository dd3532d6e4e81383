package plan

import (
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/operator/join"
	"ppscript/runtime/plan/placement"
)

// This file makes a plan run. A Plan describes and never changes: what changes
// while events flow lies in an Instance. Several instances of one plan, each in a
// goroutine of its own, may see parts of the events; they share its programs,
// which keep no state, and nothing else.

// An Instance is a plan that runs: its operators with their state, connected
// behind a router. It serves one goroutine at a time.
type Instance struct {
	*Plan
	// Router is the head of the operators: it takes the events of the source.
	Router *flow.Router
	// Running lists the running operators, in the order of Plan.Operators.
	Running []Running
	// Programs gives access to joins that programs of the kernel run; nil if
	// there are none.
	Programs Programs

	failures flow.Failures
	runs     map[Operator]Running
	streams  []*event.Stream               // the plan's streams, completed by the source and the session
	wheres   map[*feed]*flow.Where         // the predicates behind the router
	prints   bool                          // some operator prints or sends events
	keys     map[*agg.Spec]*placement.Keys // groups with other keys in the kernel
}

// Programs is the interface to programs of the kernel that run joins of an
// instance.
type Programs interface {
	// Waiting calls fn for each event that waits in a join, or was given up, as an
	// unpaired one.
	Waiting(of *join.Spec, why join.Reason, at event.Time, fn func(*event.Event))
	// Missed returns the times in which events of a join were missed.
	Missed(of *join.Spec) []join.Gap
	// Calls is the tree of a join of calls.
	Calls(of *join.Spec) []join.Call
	// Stack translates the number of a stack in a fold's state into a number of
	// the stack table.
	Stack(held uint64) uint64
	// StacksGone is called when the numbers that Stack returned are no longer valid.
	StacksGone()
}

// Running is a running operator. It takes events through its sinks.
type Running interface {
	// sink takes the events of a feed of the plan.
	sink(port int) flow.Sink

	// End ends an interval or the run; the operator hands out the events that
	// it holds. last is the time of the last event, now is the present time of
	// the same clock, 0 if unknown.
	End(final bool, last, now event.Time)
	// Loss is the loss of the events that the operator made since the last
	// call. The loss of its results is counted apart.
	Loss() event.Loss
	// State describes, in lines, the state that the operator holds now.
	State() []string

	// absorb adds up what another instance of a mergeable operator counted, and
	// empties it.
	absorb(other Running)
}

// running has the methods of Running for operators without state and loss, to
// be embedded.
type running struct{}

// instantiate hides the method of the embedded operator, so that a running
// operator is no Operator.
//
//lint:ignore U1000 nobody calls it
func (running) instantiate() {}

func (running) sink(int) flow.Sink               { panic("BUG: operator takes no events") }
func (running) End(bool, event.Time, event.Time) {}
func (running) Loss() event.Loss                 { return event.Loss{} }
func (running) State() []string                  { return nil }
func (running) absorb(Running)                   { panic("BUG: operator cannot be added up") }

// An emitter makes events: others take them from it.
type emitter interface{ attach(s flow.Sink) }

// A starter must know the readers of its events before it can begin.
type starter interface{ start(in *Instance) }

// Instantiate makes an instance of the plan.
func (p *Plan) Instantiate() *Instance {
	streams := make([]*event.Stream, len(p.streams))
	for i, st := range p.streams {
		own := *st
		streams[i] = &own
	}
	return p.instantiate(streams)
}

// Another makes an instance that reads the same source as in, in another
// goroutine: streams are the streams of in.
func (in *Instance) Another() *Instance {
	own := in.Plan.instantiate(in.streams)
	own.Router.Remap = in.Router.Remap
	return own
}

// HasStack reports that the samples of a stream carry a stack. The stream may also
// be the source's, which has the same number.
func (in *Instance) HasStack(s *event.Stream) bool {
	return slices.ContainsFunc(in.Events, func(e *Event) bool {
		return e.Stack != nil && in.streams[e.Stream.Index].Index == s.Index
	})
}

func (p *Plan) instantiate(streams []*event.Stream) *Instance {
	in := &Instance{Plan: p, Router: &flow.Router{}, runs: map[Operator]Running{}, streams: streams,
		wheres: map[*feed]*flow.Where{}}
	for _, e := range p.Events {
		// Where there is no kernel to filter, the router does it before it counts:
		// a recording then has the samples that the live run had.
		if e.Native != nil {
			in.Router.Filter(e.Stream.Index, e.Native)
		}
		if e.inner {
			in.Router.Inner(e.Stream.Index)
		}
	}

	// Operators that make events come before operators that take them.
	for _, op := range p.Operators {
		run := op.instantiate(in)
		in.Running = append(in.Running, run)
		in.runs[op] = run
	}
	in.connect()
	if in.Kernel != nil {
		in.keys = in.Kernel.Keys(in.Stream)
	}
	return in
}

// connect brings the events of each feed to its operator: through predicates,
// from the router or from the operator that makes them.
func (in *Instance) connect() {
	for _, f := range in.feeds {
		flushed := in.flushed(f)
		if in.programsDo(f.op) {
			if flushed != nil {
				flushed.attach(in.filtered(f, in.runs[f.op].sink(f.port)))
			}
			continue // programs do it
		}
		sink := in.filtered(f, in.runs[f.op].sink(f.port))
		if f.about != nil {
			o := &flow.Others{Next: sink, About: f.about, Self: &in.Router.Self}
			in.prints = true
			sink = o
		}
		if f.root != nil {
			f.root.emitter(in).attach(sink)
			if flushed != nil {
				flushed.attach(sink)
			}
			continue
		}
		var streams []int
		for _, e := range f.edges {
			streams = append(streams, e.Stream)
		}
		in.Router.Add(sink, streams, len(in.streams))
	}
	if in.Kernel.Sends() {
		in.arrive()
	}
	for _, run := range in.Running {
		if s, ok := run.(starter); ok {
			s.start(in)
		}
	}

	if in.mixed {
		// A join or fold hands out its events only after a whole slice. With
		// slices of one event, they come in time order with other events. Events
		// that programs made are treated the same way, each operator by itself.
		for i := range in.streams {
			in.Router.Split(i)
		}
	}
}

// flushed is the sink for events of the flush function, if programs keep the states and
// send the other emitted events; else nil.
func (in *Instance) flushed(f *feed) emitter {
	n, ok := f.root.(*foldOp)
	if !ok || n.spec.Flush == nil || !in.programsDo(n) {
		return nil
	}
	return &in.runs[n].(*FoldRun).flushed
}

// filtered puts the predicates of f's edges that are left to ppscript in front of a sink.
func (in *Instance) filtered(f *feed, sink flow.Sink) flow.Sink {
	each, any := f.predicates(in)
	if !any {
		return sink
	}
	w := &flow.Where{Pred: flow.NewFn(each, sole(f.branches)), Next: sink,
		HeldBack: make([]uint64, len(in.streams))}
	in.fails(f.name, &w.Errs, false)
	if f.root == nil {
		in.wheres[f] = w
	}
	return w
}

// Samples counts the events of the sources that passed the predicates in front of a result or an
// operator. Programs of the kernel count the same way. If a stream has several readers, the reader
// with the most events counts.
func (in *Instance) Samples() uint64 {
	n := in.Router.Samples
	if len(in.wheres) == 0 {
		return n // no predicate
	}
	held := map[int]uint64{} // predicates that all readers of a stream have
	for _, f := range in.feeds {
		if f.root != nil || in.programsDo(f.op) {
			continue
		}
		w := in.wheres[f]
		for _, e := range f.edges {
			st := e.Stream
			var own uint64
			if w != nil {
				own = w.HeldBack[st]
			}
			if least, ok := held[st]; !ok || own < least {
				held[st] = own
			}
		}
	}
	for st, least := range held {
		if in.Router.Counted(st) {
			n -= least
		}
	}
	return n
}

// join is a join of the plan that runs here.
func (in *Instance) join(n *JoinOp) *JoinRun { return in.runs[n].(*JoinRun) }

// Streams lists all streams by index: of opened events, then of derived events.
// The instance owns them: a source sets how their events are read, a session
// how threads are named.
func (in *Instance) Streams() []*event.Stream { return in.streams }

// Stream is the instance's copy of a stream of the plan; nil for nil.
func (in *Instance) Stream(st *event.Stream) *event.Stream {
	if st == nil {
		return nil
	}
	return in.streams[st.Index]
}

// streamsOf is Stream for a list.
func (in *Instance) streamsOf(list []*event.Stream) []*event.Stream {
	own := make([]*event.Stream, len(list))
	for i, st := range list {
		own[i] = in.Stream(st)
	}
	return own
}

// End ends an interval or the run. now is the time on the clock of the events, 0
// if nobody knows.
func (in *Instance) End(final bool, now event.Time) {
	for _, run := range in.Running {
		run.End(final, in.Router.Last, now)
	}
}

// Loss is the loss in operators since the last call, without the loss that
// results report themselves.
func (in *Instance) Loss() event.Loss {
	var all event.Loss
	for _, run := range in.Running {
		all.Add(run.Loss())
	}
	return all
}

// Limit ends the run after n samples; 0 is no limit. If the first result is
// lines, only shown events count: not events that a condition rejects, nor
// events of ppscript itself. A result that counts events counts all samples.
func (in *Instance) Limit(n uint64) {
	in.Router.Limit = n
	for _, op := range Of[*LogOp](in.Plan) {
		if Report(op.Spec) == in.first {
			in.Router.Lines = true
		}
	}
}

// Absorb adds what another instance of the plan counted to in, and empties it.
func (in *Instance) Absorb(o *Instance) {
	for i, run := range in.Running {
		run.absorb(o.Running[i])
	}
	in.failures.Absorb(&o.failures)
	for f, w := range in.wheres {
		w.Absorb(o.wheres[f])
	}
	in.Router.Absorb(o.Router)
}

// Runs returns the running operators of one kind, in the plan's order.
func Runs[T Running](in *Instance) []T {
	var list []T
	for _, run := range in.Running {
		if t, ok := run.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// fails remembers an operator whose functions may fail; own says that its Loss
// counts them.
func (in *Instance) fails(name string, errs *flow.Errors, own bool) { in.failures.Add(name, errs, own) }

// Failures are the evaluations that failed.
func (in *Instance) Failures() *flow.Failures { return &in.failures }

// counting is an operator whose rows programs of the kernel can count.
type counting interface{ group() *agg.Group }

// Group is the group that programs of the kernel know as spec.
func (in *Instance) Group(spec *agg.Spec) *agg.Group {
	of := in.Kernel.Counts(spec)
	for op, run := range in.runs {
		if op.graphNode() == of {
			return run.(counting).group()
		}
	}
	panic("BUG: a group of no operator")
}

// Counted calls fn with the groups whose rows programs of the kernel can count.
func (in *Instance) Counted(fn func(g *agg.Group)) {
	for _, run := range in.Running {
		if c, ok := run.(counting); ok {
			fn(c.group())
		}
	}
}

// Partial replaces the kernel's key of p by the key of the plan's group, if
// these differ. It returns false, and counts an error, if the key cannot be
// computed.
func (in *Instance) Partial(of *agg.Spec, p *agg.Partial) bool {
	keys := in.keys[of]
	if keys == nil || p.Other {
		return true
	}
	own, ok := keys.Key(p.Key)
	if !ok {
		in.Group(of).AddLoss(event.Loss{Errors: p.Hits})
		return false
	}
	p.Key = own
	return true
}

// programsDo reports that programs do an operator's work and send the events that
// it makes.
func (in *Instance) programsDo(op Operator) bool { return in.Kernel.Does(op.graphNode()) }

// An outlet is where an operator hands out the events that it makes.
type outlet struct{ next flow.Fan }

func (o *outlet) attach(s flow.Sink) { o.next.Next = append(o.next.Next, s) }

// to returns the sink that receives the events: the only reader itself, or the fan if there are
// several.
func (o *outlet) to() flow.Sink {
	if len(o.next.Next) == 1 {
		return o.next.Next[0]
	}
	return &o.next
}
