package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/flow"
	"ppscript/runtime/join"
)

// This file is a join that programs do: its pairs arrive from the kernel, and go on
// as those of a join that runs here.

// arrivals hands on the pairs of a join. Programs tell of its losses themselves,
// but for records that did not fit into a buffer.
type arrivals struct {
	op      *JoinOp
	next    flow.Sink
	streams []*event.Stream // of the events that programs take, in their order
	around  *join.Timeline  // of what happens during its pairs; nil if nobody shows it
	frame   expr.Frame
	errs    flow.Errors
	stats   join.Stats
}

// Events implements flow.Sink.
//
// Fast path: this runs for every pair that leaves the kernel.
func (a *arrivals) Events(evs []*event.Event) {
	for _, e := range evs {
		d := e.Derived
		// The source knows its own streams: the events, in the plan's order.
		start, end := a.streams[d.Start.Stream.Index], a.streams[d.End.Stream.Index]
		d.Start.Stream, d.End.Stream = start, end
		if !a.op.js.NeedKey {
			d.Slots = nil
			continue
		}
		a.frame.Reset(d.End)
		d.Slots = d.Slots[:1]
		if d.Slots[0] = a.op.js.In[end.Index].Key.Value(&a.frame); a.frame.Err != nil {
			a.errs.Note(&a.frame)
			a.frame.Err = nil
		}
	}
	a.stats.Pairs += uint64(len(evs))
	a.next.Events(evs)
}

// Lost implements flow.Sink. What is lost behind the join breaks no pair.
func (a *arrivals) Lost(ring int32, n uint64, t event.Time) { a.next.Lost(ring, n, t) }

func (a *arrivals) Stats() join.Stats       { return a.stats }
func (a *arrivals) Loss() event.Loss        { return event.Loss{} }
func (a *arrivals) Failures() *flow.Errors  { return &a.errs }
func (a *arrivals) Ended(int32, event.Time) {}
func (a *arrivals) Began(int32)             {}

// End shows the pairs that waited for events after them when the run ends.
func (a *arrivals) End(final bool, _ event.Time) {
	if final && a.around != nil {
		a.around.Due(event.MaxTime)
	}
}

// start begins to take the pairs of a join.
func (a *arrivals) start(in *Instance) {
	for _, e := range in.Plan.Events {
		a.streams = append(a.streams, in.Stream(e.Stream))
	}
}

// arrive brings the pairs of the joins, and what the folds emit, that programs do to
// who reads them here. They are no samples of their own: programs count their events.
func (in *Instance) arrive() {
	for _, n := range Of[*foldOp](in.Plan) {
		run := in.runs[n].(*FoldRun)
		if st := n.spec.Out; in.programsDo(n) && len(run.next.Next) > 0 {
			in.Router.Inner(st.Index)
			in.Router.Add(run, []int{st.Index}, len(in.streams))
		}
	}
	for _, n := range Of[*JoinOp](in.Plan) {
		run := in.runs[n].(*JoinRun)
		if !in.programsDo(n) || len(run.next.Next) == 0 {
			continue
		}
		var streams []int
		for _, ends := range n.js.Pairs {
			for _, st := range ends {
				if st != nil {
					streams = append(streams, st.Index)
					in.Router.Inner(st.Index)
				}
			}
		}
		in.Router.Add(run, streams, len(in.streams))
	}
}
