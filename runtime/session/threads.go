package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/reading"
)

// threads makes an event for each thread that exists when the run begins.
type threads struct {
	plan.NoDelivery
	of   *run
	list reading.Threads
}

func (d *threads) Begin(_ context.Context, op plan.Running) error {
	set := op.(*plan.RecordSet)
	d.of.instance.Router.Begins(func(t event.Time) {
		set.Sink().Events(d.list.Events(set.Stream, t))
		d.list = reading.Threads{}
	})
	if d.of.env.rec.file == nil {
		d.list.List(d.of.env.watch.Threads())
	}
	return nil
}

// Elsewhere implements plan.Delivery.
func (*threads) Elsewhere() bool { return true }

// side collects the records about threads that precede the first event of a
// recording.
func (d *threads) side(e *event.Event) {
	if d.of.env.rec.file != nil && d.of.instance.Router.First == 0 {
		d.list.Record(e)
	}
}
