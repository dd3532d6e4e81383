package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/reading"
)

// A sideReader is a delivery that reads the records that are not samples.
type sideReader interface {
	side(e *event.Event)
}

// kernelRecords delivers the records about the kernel itself, as events.
type kernelRecords struct {
	plan.NoDelivery
	of *run
	op *plan.RecordSet
}

func (d *kernelRecords) Begin(_ context.Context, op plan.Running) error {
	d.op = op.(*plan.RecordSet)
	return nil
}

// Elsewhere implements plan.Delivery.
func (*kernelRecords) Elsewhere() bool { return true }

// side makes an event from a record.
func (d *kernelRecords) side(e *event.Event) {
	symbol := func(addr uint64) string {
		return string(d.of.env.events.here.Symbols.AppendSymbol(nil, addr))
	}
	if made := reading.Record(d.op.Stream, e, symbol); made != nil {
		d.of.instance.Router.Samples++
		d.op.Sink().Events([]*event.Event{made})
	}
}
