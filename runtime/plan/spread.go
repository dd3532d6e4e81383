package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
	"ppscript/runtime/source/eventspec"
	"ppscript/runtime/text/diag"
)

// This file is about events that come from elsewhere (pull=ADDRESS) and events
// that are sent elsewhere (push=ADDRESS).

// A PushOp sends events to an address.
type PushOp struct {
	operator
	To  string
	Of  []*Event // their ids are their places, from 1
	ids []uint64 // by stream; 0 is not sent
}

// A PushRun is a PushOp that runs. Session sets Send and Lose before events flow.
type PushRun struct {
	running
	*PushOp
	Send func(id uint64, e *event.Event)
	Lose func(n uint64, t event.Time)
}

func (p *PushOp) instantiate(*Instance) Running { return &PushRun{PushOp: p} }

func (p *PushRun) sink(int) flow.Sink { return p }

// addPushes finds the push attributes; events with the same address share it.
func addPushes(b *builder) error {
	byAddress := map[string]*PushOp{}
	var brs []branch
	for _, e := range b.plan.Events {
		all := e.Source.Push()
		if len(all) == 0 {
			continue
		}
		if e.Source.Kind != eventspec.Tracepoint {
			return diag.Errorf(diag.Usage, "push", e.Stream.Label, "only tracepoints can be sent").
				WithHint("leave out push=")
		}
		for _, to := range all {
			op := byAddress[to]
			if op == nil {
				op = &PushOp{To: to}
				byAddress[to] = op
				b.plan.add(op)
			}
			for len(op.ids) <= e.Stream.Index {
				op.ids = append(op.ids, 0)
			}
			op.Of = append(op.Of, e)
			op.ids[e.Stream.Index] = uint64(len(op.Of))
		}
		brs = append(brs, branch{stream: e.Stream.Index, scope: b.scope(e.Source, e.Stream.Schema)})
	}
	for _, op := range Of[*PushOp](b.plan) {
		var mine []branch
		for _, br := range brs {
			if op.id(br.stream) > 0 {
				mine = append(mine, br)
			}
		}
		b.feed(feed{op: op, name: "push " + op.To, prints: true}, mine)
	}
	return nil
}

func (*PushOp) needs(_ *builder, n *need) {
	n.Add(event.MemberTime, event.MemberTID, event.MemberCPU, event.MemberPeriod, event.MemberComm)
	n.Raw = true
	n.Order("events are sent in time order")
}

func (*PushOp) deliver(h Host) Delivery { return h.Push() }

func (*PushOp) ofOneMachine() (what, why string) {
	return "push=", "events are not sent on from here"
}

func (*PushOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "events are sent elsewhere"
}
func (*PushOp) notSent() string { return sentElsewhere }

func (p *PushOp) id(stream int) uint64 {
	if stream < len(p.ids) {
		return p.ids[stream]
	}
	return 0
}

// Events implements flow.Sink.
func (p *PushRun) Events(evs []*event.Event) {
	for _, e := range evs {
		p.Send(p.id(e.Stream.Index), e)
	}
}

// Lost implements flow.Sink.
func (p *PushRun) Lost(_ int32, n uint64, t event.Time) { p.Lose(n, t) }

var _ flow.Sink = (*PushRun)(nil)

// unsent removes branches whose events are sent elsewhere: a log does not show
// these.
func unsent(b *builder, brs []branch) []branch {
	var list []branch
	for _, br := range brs {
		if e := b.events[br.stream]; e != nil && br.root == nil && len(e.Source.Attr("push")) > 0 {
			continue
		}
		list = append(list, br)
	}
	return list
}

// Pulls reports that some events come from elsewhere.
func (p *Plan) Pulls() bool {
	for _, e := range p.Events {
		if e.Source.Pulled() {
			return true
		}
	}
	return false
}
