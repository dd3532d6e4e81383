package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
)

// A delivery is what the session does for one operator of the plan: it opens
// the files that the operator's results go to, shows them at each interval, and
// closes. Each kind is a file of its own and a line in newDelivery.
type delivery interface {
	// open comes before events are opened: that something cannot be written is
	// better known then.
	open(ctx context.Context, r *run, op plan.Operator) error
	// begin comes when the operator runs. The plan may have been built anew
	// since, with an operator of the same kind in the same place.
	begin(ctx context.Context, r *run, op plan.Running) error
	// tick shows the interval that ends, and begins the next.
	tick(r *run, t *interval) error
	// close frees what open and begin made, also after they failed.
	close(r *run) error
	// showsLoss says that losses are seen with its results.
	showsLoss() bool
	// late says that its results come behind those of the others.
	late() bool
}

// An interval is what results of one interval have in common.
type interval struct {
	loss  event.Loss // of the sources and of what is in front of the results
	final bool
	now   time.Time
}

// undelivered is what most deliveries leave out.
type undelivered struct{}

func (undelivered) open(context.Context, *run, plan.Operator) error { return nil }
func (undelivered) begin(context.Context, *run, plan.Running) error { return nil }
func (undelivered) tick(*run, *interval) error                      { return nil }
func (undelivered) close(*run) error                                { return nil }
func (undelivered) showsLoss() bool                                 { return false }
func (undelivered) late() bool                                      { return false }

// newDelivery makes the delivery of an operator; nil if it needs none.
func newDelivery(op plan.Operator) delivery {
	switch op := op.(type) {
	case *plan.StacksOp:
		if op.Spec.File {
			return &stackFile{}
		}
		return &stackResult{}
	case *plan.PushOp:
		return &outlet{}
	case *plan.RecordOp:
		return &kernelRecords{}
	case *plan.TableOp:
		return &tableDelivery{}
	case *plan.DatabaseOp:
		return &database{}
	case *plan.HeatOp:
		return &heatMaps{}
	case *plan.Text:
		return answer{text: op.Text}
	case *plan.LogOp:
		return logLines{}
	case *plan.SlowOp, *plan.TriggerOp, *plan.ExecOp, *plan.EachOp:
		return callbacks{}
	}
	return nil
}

// deliveries are by the plan's operators; nil for those without.
type deliveries []delivery

// open opens the deliveries of all operators.
func (ds *deliveries) open(ctx context.Context, r *run) error {
	for _, op := range r.plan.Operators {
		d := newDelivery(op)
		*ds = append(*ds, d)
		if d == nil {
			continue
		}
		if err := d.open(ctx, r, op); err != nil {
			return err
		}
	}
	return nil
}

// begin connects them with the operators of the final plan.
func (ds deliveries) begin(ctx context.Context, r *run) error {
	for i, op := range r.instance.Running {
		if d := ds[i]; d != nil {
			if err := d.begin(ctx, r, op); err != nil {
				return err
			}
		}
	}
	return nil
}

// showLoss reports that some result is seen with its losses.
func (ds deliveries) showLoss() bool {
	return slices.ContainsFunc(ds, func(d delivery) bool { return d != nil && d.showsLoss() })
}

// side hands a record that is not a sample to those that want it.
func (ds deliveries) side(r *run, e *event.Event) {
	for _, d := range ds {
		if s, ok := d.(sideReader); ok {
			s.side(r, e)
		}
	}
}

// send ends a batch of what is sent.
func (ds deliveries) send(r *run, final bool) error {
	var errs []error
	for _, d := range ds {
		if o, ok := d.(*outlet); ok {
			errs = append(errs, o.round(r, final))
		}
	}
	r.env.msgs.sayHeard()
	return errors.Join(errs...)
}

// tick has all of them show an interval.
func (ds deliveries) tick(r *run, t *interval) error {
	for _, late := range []bool{false, true} {
		for _, d := range ds {
			if d == nil || d.late() != late {
				continue
			}
			if err := d.tick(r, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (ds deliveries) close(r *run) error {
	var errs []error
	for _, d := range ds {
		if d != nil {
			errs = append(errs, d.close(r))
		}
	}
	return errors.Join(errs...)
}
