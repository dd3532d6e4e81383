package plan

import (
	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/plan/graph"
)

// A TriggerOp ends the interval at each of its events.
type TriggerOp struct {
	operator
	stream int
}

// A TriggerRun is a TriggerOp that runs. Its delivery sets fire.
type TriggerRun struct {
	running
	fire func(e *event.Event)
}

func (t *TriggerOp) instantiate(in *Instance) Running {
	in.Router.Split(t.stream)
	return &TriggerRun{}
}

func (t *TriggerRun) sink(int) flow.Sink { return t }

// Events implements flow.Sink.
func (t *TriggerRun) Events(evs []*event.Event) {
	for _, e := range evs {
		t.fire(e)
	}
}

func (*TriggerOp) needs(b *builder, n *need) { n.showsAround(b) }
func (*TriggerOp) sees() sight               { return sight{records: true} }
func (*TriggerOp) deliver(h Host) Delivery {
	return connection(func(r Running) error {
		r.(*TriggerRun).fire = h.Interrupt
		return nil
	})
}

func (*TriggerOp) ofOneMachine() (what, why string) { return "", actsHere }

func (*TriggerOp) inKernel() (graph.Work, string) {
	return graph.Work{}, "events end intervals"
}

// Lost implements flow.Sink.
func (t *TriggerRun) Lost(int32, uint64, event.Time) {}
