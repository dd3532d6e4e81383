package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/join"
)

// This file brings the output of joins and folds in programs to its readers here.

// arrived takes what programs make as a join.
func (j *JoinRun) arrived(in *Instance, s join.Spec) *join.Arrived {
	var streams []*event.Stream
	for _, e := range in.Plan.Events {
		streams = append(streams, in.Stream(e.Stream))
	}
	streams = append(streams, in.streams...) // what is made is behind them (bpf/record.go)
	return join.NewArrived(s, j.to(), streams, join.Programs{
		Waiting: func(why join.Reason, at event.Time, fn func(*event.Event)) {
			in.Programs.Waiting(&j.op.js, why, at, fn)
		},
		Missed: func() []join.Gap { return in.Programs.Missed(&j.op.js) },
	})
}

// arrive brings the pairs of the joins, and what the folds emit, that programs do to
// their readers here. They are no samples of their own: programs count their events.
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

// inner adds the streams that there are to a list.
func (in *Instance) inner(list []int, streams []*event.Stream) []int {
	for _, st := range streams {
		if st != nil {
			in.Router.Inner(st.Index)
			list = append(list, st.Index)
		}
	}
	return list
}

// An unpairedArrival takes the events without a partner of a join that programs do. The join
// begins later, when its readers are known.
type unpairedArrival JoinRun

// Events implements flow.Sink.
func (l *unpairedArrival) Events(evs []*event.Event) {
	l.joiner.(*join.Arrived).UnpairedSink().Events(evs)
}

// Lost implements flow.Sink.
func (l *unpairedArrival) Lost(ring int32, n uint64, t event.Time) {
	l.joiner.(*join.Arrived).UnpairedSink().Lost(ring, n, t)
}
