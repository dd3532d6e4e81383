package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/reading"
)

// threads delivers the threads that exist when the run begins, as events.
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

// side reads the records about threads from before the recording's first event.
func (d *threads) side(e *event.Event) {
	if d.of.env.rec.file != nil && d.of.instance.Router.First == 0 {
		d.list.Record(e)
	}
}
