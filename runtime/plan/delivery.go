package plan

import (
	"context"
	"io"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file brings the results of operators to the user. The file of an operator makes its
// Delivery; a session calls it, and offers it a Host: the output of results, and deliveries that
// need files, addresses or names of stacks, which only a session opens.

// A Delivery brings the results of one operator to the user: it opens the files that they go to,
// shows them at each interval, and closes. Embed NoDelivery, and override what is different.
type Delivery interface {
	// Open comes before events are opened, so that a file that cannot be
	// written is an error before the run.
	Open(ctx context.Context, op Operator) error
	// Begin comes when the operator runs. The plan may have been built anew
	// since, with an operator of the same kind in the same place.
	Begin(ctx context.Context, op Running) error
	// Tick shows the interval that ends, and begins the next.
	Tick(t *Interval) error
	// Close frees what Open and Begin made, also after they failed.
	Close() error
	// ShowsLoss says that losses are seen with its results.
	ShowsLoss() bool
	// Late says that its results are shown after the results of other
	// deliveries.
	Late() bool
	// Elsewhere says that its results do not depend on rows that are shown: they go to files, functions of
	// the script or receivers, or are shown event by event.
	Elsewhere() bool
}

// An Interval has the time, loss and notes that all results of one interval
// share.
type Interval struct {
	Loss  event.Loss // of the sources and of what is in front of the results
	Final bool
	Now   time.Time
	// Until is the time before which all events have come; 0 is the end of the interval.
	Until event.Time
	About result.Meta // the notes of all results of the interval, without loss
}

// Meta is About with the loss of one result added.
func (t *Interval) Meta(name, title string, loss event.Loss) result.Meta {
	m := t.About
	m.Name, m.Title, m.Loss = name, title, loss
	return m
}

// A Host is the session as deliveries see it.
type Host interface {
	// Show shows a result, Table a table, on timelines too.
	Show(r result.Result) error
	Table(t *result.Table) error
	// Detail shows a slow pair.
	Detail(d *result.Detail)
	// Missing is the loss of one result of an interval: of the sources, of the operators in front
	// of it, and its own.
	Missing(t *Interval, own event.Loss) event.Loss
	// Interrupt ends the interval because of an event, and shows the event.
	Interrupt(e *event.Event)
	// Fail ends the run with an error of a script's function; nil is none.
	Fail(err error)
	// Printer gets the text that the exec expressions of events print.
	Printer() io.Writer

	// Deliveries that a session has, of operators whose results go to files or addresses, or have names
	// of stacks.
	Databases() Delivery
	HeatMaps() Delivery
	KernelRecords() Delivery
	Lines() Delivery
	Push() Delivery
	Stacks(op *StacksOp) Delivery
	Tables() Delivery
	Threads() Delivery
	Timelines() Delivery
	Why() Delivery
}

// NoDelivery has the methods of Delivery that do nothing, to be embedded.
type NoDelivery struct{}

func (NoDelivery) Open(context.Context, Operator) error { return nil }
func (NoDelivery) Begin(context.Context, Running) error { return nil }
func (NoDelivery) Tick(*Interval) error                 { return nil }
func (NoDelivery) Close() error                         { return nil }
func (NoDelivery) ShowsLoss() bool                      { return false }
func (NoDelivery) Late() bool                           { return false }
func (NoDelivery) Elsewhere() bool                      { return false }

// Deliver makes the deliveries of the plan's operators; nil for an operator without results.
func (p *Plan) Deliver(h Host) []Delivery {
	list := make([]Delivery, len(p.Operators))
	for i, op := range p.Operators {
		list[i] = op.deliver(h)
	}
	return list
}

// A connection is the delivery of an operator that calls the host when an event comes. It tells the
// running operator what it calls.
type connection func(op Running) error

func (c connection) Begin(_ context.Context, r Running) error { return c(r) }
func (connection) Open(context.Context, Operator) error       { return nil }
func (connection) Tick(*Interval) error                       { return nil }
func (connection) Close() error                               { return nil }
func (connection) ShowsLoss() bool                            { return false }
func (connection) Late() bool                                 { return false }
func (connection) Elsewhere() bool                            { return true }
