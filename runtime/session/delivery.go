package session

import (
	"context"
	"errors"
	"io"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// This file is the session's side of deliveries (runtime/plan/delivery.go).

// A host gives deliveries access to a run.
type host struct{ of *run }

func (h host) Show(r result.Result) error   { return h.of.results.out.Show(r) }
func (h host) Table(t *result.Table) error  { return h.of.results.table(t) }
func (h host) Detail(d *result.Detail)      { h.of.results.detail(d) }
func (h host) Interrupt(e *event.Event)     { h.of.trigger(e) }
func (h host) Fail(err error)               { h.of.results.failed = err }
func (h host) Printer() io.Writer           { return &textOut{to: &h.of.results} }
func (h host) HeatMaps() plan.Delivery      { return &heatMaps{to: &h.of.results} }
func (h host) KernelRecords() plan.Delivery { return &kernelRecords{of: h.of} }
func (h host) Lines() plan.Delivery         { return logLines{to: &h.of.results} }
func (h host) Tables() plan.Delivery        { return &tableDelivery{to: &h.of.results} }
func (h host) Threads() plan.Delivery       { return &threads{of: h.of} }
func (h host) Timelines() plan.Delivery     { return &timelineFiles{of: h.of} }
func (h host) Why() plan.Delivery           { return &whyResult{of: h.of} }

func (h host) Missing(t *plan.Interval, own event.Loss) event.Loss {
	return h.of.results.missing(t, own)
}

func (h host) Databases() plan.Delivery {
	return &database{to: &h.of.results, services: h.of.env.services, queryEnd: h.of.naming.queryEnd}
}

func (h host) Push() plan.Delivery {
	r := h.of
	return &outlet{to: &r.results, env: r.env, clock: &r.clock, in: &r.in}
}

func (h host) Stacks(op *plan.StacksOp) plan.Delivery {
	counts, recorded := stackCounts{to: &h.of.results}, h.of.env.rec.info()
	switch op.Spec.File {
	case "":
		return &stackResult{stackCounts: counts}
	case output.Profiles:
		return &stackResult{stackCounts: counts, aside: true, recorded: recorded}
	}
	return &stackFile{stackCounts: counts, of: h.of, recorded: recorded}
}

// deliveries has the delivery of each operator of the plan; nil if it has none.
type deliveries []plan.Delivery

// open opens the deliveries of all operators.
func (ds *deliveries) open(ctx context.Context, r *run) error {
	for i, d := range r.plan.Deliver(host{r}) {
		*ds = append(*ds, d)
		if d == nil {
			continue
		}
		if err := d.Open(ctx, r.plan.Operators[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin connects the deliveries with the operators of the final plan.
func (ds deliveries) begin(ctx context.Context, running []plan.Running) error {
	for i, op := range running {
		if d := ds[i]; d != nil {
			if err := d.Begin(ctx, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// showLoss reports that some result is shown with its losses.
func (ds deliveries) showLoss() bool {
	return slices.ContainsFunc(ds, func(d plan.Delivery) bool { return d != nil && d.ShowsLoss() })
}

// elsewhere reports that some results are not shown as rows.
func (ds deliveries) elsewhere() bool {
	return slices.ContainsFunc(ds, func(d plan.Delivery) bool { return d != nil && d.Elsewhere() })
}

// side passes a record that is not a sample to the deliveries that use it.
func (ds deliveries) side(e *event.Event) {
	for _, d := range ds {
		if s, ok := d.(sideReader); ok {
			s.side(e)
		}
	}
}

// table shows a table on timelines.
func (ds deliveries) table(t *result.Table) {
	for _, d := range ds {
		if d, ok := d.(*timelineFiles); ok && d.build != nil {
			d.build.Table(t)
		}
	}
}

// send ends a batch of sent events: all events up to a time have been sent.
func (ds deliveries) send(until event.Time) error {
	var errs []error
	for _, d := range ds {
		if o, ok := d.(*outlet); ok {
			errs = append(errs, o.round(until))
		}
	}
	return errors.Join(errs...)
}

// tick makes all deliveries show an interval.
func (ds deliveries) tick(t *plan.Interval) error {
	for _, late := range []bool{false, true} {
		for _, d := range ds {
			if d == nil || d.Late() != late {
				continue
			}
			if err := d.Tick(t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ds deliveries) close() error {
	var errs []error
	for _, d := range ds {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}
