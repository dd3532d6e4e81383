package plan

import (
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/text/diag"
)

// Timeline hands over, each once and in time order, the events that the results of
// In are made of, and all opened events of scheduling.
type Timeline struct {
	In []Stream
}

// Input implements Report.
func (t *Timeline) Input() Stream { return &Merge{In: t.In} }

// A TimelineOp is the operator that Build makes of a Timeline.
type TimelineOp struct {
	operator
	Name string
}

// A TimelineRun is a TimelineOp that runs. Session sets both functions before events flow.
type TimelineRun struct {
	running
	*TimelineOp
	Emit  func(evs []*event.Event)
	Loses func(n uint64, until event.Time)
}

// Events implements flow.Sink.
func (t *TimelineRun) Events(evs []*event.Event) { t.Emit(evs) }

// Lost implements flow.Sink.
func (t *TimelineRun) Lost(_ int32, n uint64, until event.Time) { t.Loses(n, until) }

// scheduling are the events by which a timeline shows which thread runs where, and which woke which.
var scheduling = []string{"sched_switch", "sched_waking", "sched_wakeup", "sched_wakeup_new"}

func schedules(br *branch) bool {
	s := br.scope.Schema
	return br.root == nil && s.System == "sched" && slices.Contains(scheduling, s.Name)
}

// build takes each stream once. If several results filter a stream differently, all of
// its events are shown.
func (t *Timeline) build(b *builder) error {
	type place struct {
		root   root
		stream int
	}
	var all []branch
	at := map[place]int{}
	take := func(brs []branch, which func(*branch) bool) {
		for _, br := range brs {
			p := place{br.root, br.stream}
			if i, taken := at[p]; taken {
				all[i].preds = nil
			} else if which(&br) {
				at[p] = len(all)
				all = append(all, br)
			}
		}
	}
	for _, in := range unmerged(t.In, nil) {
		brs, err := b.branchesOf(in)
		if err != nil {
			return err
		}
		take(unsent(b, brs), func(*branch) bool { return true })
	}
	if len(all) == 0 {
		return diag.Errorf(diag.Usage, "timeline", "", "the script has no events that could be shown").
			WithHint("use it with a script that shows or counts events, such as trace or multi-trace")
	}
	for _, in := range t.In {
		for _, s := range sourcesOf(in, nil) {
			brs, err := b.branchesOf(s)
			if err != nil {
				return err
			}
			take(unsent(b, brs), schedules)
		}
	}
	op := &TimelineOp{Name: b.names.next("timeline")}
	b.plan.add(op)
	b.feed(feed{op: op, name: op.Name, prints: true}, all)
	return nil
}

// unmerged appends the streams that a Merge consists of.
func unmerged(in []Stream, list []Stream) []Stream {
	for _, s := range in {
		if m, ok := s.(*Merge); ok {
			list = unmerged(m.In, list)
		} else if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// sourcesOf appends the sources below a stream.
func sourcesOf(s Stream, list []*Source) []*Source {
	if src, ok := s.(*Source); ok && !slices.Contains(list, src) {
		return append(list, src)
	}
	for _, in := range s.Inputs() {
		list = sourcesOf(in, list)
	}
	return list
}

func (t *TimelineOp) instantiate(*Instance) Running { return &TimelineRun{TimelineOp: t} }

func (t *TimelineRun) sink(int) flow.Sink { return t }

func (t *TimelineOp) needs(b *builder, n *need) {
	n.lines(b)
	n.Add(event.MemberPeriod) // the weights of samples
	n.Order("a timeline has events in time order")
}

func (*TimelineOp) sees() sight { return sight{key: true, starts: true, records: true} }

func (*TimelineOp) deliver(h Host) Delivery { return h.Timelines() }

func (*TimelineOp) ofOneMachine() (what, why string) { return "", actsHere }

func (*TimelineOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "a timeline shows events"
}

func (*TimelineOp) explain(w *strings.Builder) {
	w.WriteString("result timeline: each event, in a file\n")
}
