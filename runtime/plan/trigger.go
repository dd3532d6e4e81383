package plan

import "ppscript/runtime/event"

// A TriggerRun ends the interval at each of its events. Session sets Fire
// before events flow.
type TriggerRun struct {
	operator
	stream int
	Fire   func(e *event.Event)
}

// Events implements flow.Sink.
func (t *TriggerRun) Events(evs []*event.Event) {
	for _, e := range evs {
		t.Fire(e)
	}
}

func (*TriggerRun) needs(b *builder, n *need)    { n.showsAround(b) }
func (*TriggerRun) sees() sight                  { return sight{records: true} }
func (*TriggerRun) inKernel() (kernelOp, string) { return kernelOp{}, "events end intervals" }

// Lost implements flow.Sink.
func (t *TriggerRun) Lost(int32, uint64, event.Time) {}
