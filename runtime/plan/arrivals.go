package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
)

// This file brings the output of joins and folds in programs to its readers here.

// arrived takes the pairs that programs of the kernel send as the output of a
// join.
func (j *JoinRun) arrived(in *Instance, s join.Spec) *join.Arrived {
	var streams []*event.Stream
	for _, e := range in.Plan.Events {
		streams = append(streams, in.Stream(e.Stream))
	}
	streams = append(streams, in.streams...) // the streams of the output follow the sources' (bpf/record.go)
	return join.NewArrived(s, j.to(), streams, join.Programs{
		Waiting: func(why join.Reason, at event.Time, fn func(*event.Event)) {
			in.Programs.Waiting(&j.op.js, why, at, fn)
		},
		Missed: func() []join.Gap { return in.Programs.Missed(&j.op.js) },
	})
}

// arrive brings pairs and emitted events to their readers here, where programs of
// the kernel run the joins and folds. They do not count as samples: programs count
// the events that they are made of.
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
		if !in.programsDo(n) {
			continue
		}
		var streams []int
		for _, ends := range n.js.Pairs {
			streams = in.inner(streams, ends)
		}
		if len(run.next.Next) > 0 {
			in.Router.Add(run, streams, len(in.streams))
		}
		if len(run.unpaired) > 0 {
			in.Router.Add((*unpairedArrival)(run), in.inner(nil, n.js.Streams), len(in.streams))
		}
	}
}

// inner appends the streams that are not nil to a list.
func (in *Instance) inner(list []int, streams []*event.Stream) []int {
	for _, st := range streams {
		if st != nil {
			in.Router.Inner(st.Index)
			list = append(list, st.Index)
		}
	}
	return list
}

// An unpairedArrival takes the unpaired events of a join that programs of the kernel run.
// The join begins later, when its readers are known.
type unpairedArrival JoinRun

// Events implements flow.Sink.
func (l *unpairedArrival) Events(evs []*event.Event) {
	l.joiner.(*join.Arrived).UnpairedSink().Events(evs)
}

// Lost implements flow.Sink.
func (l *unpairedArrival) Lost(ring int32, n uint64, t event.Time) {
	l.joiner.(*join.Arrived).UnpairedSink().Lost(ring, n, t)
}
