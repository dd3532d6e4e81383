package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// A delivery is what the session does for one operator of the plan: it opens
// the files that the operator's results go to, shows them at each interval, and
// closes. Each kind is a file of its own and a line in newDelivery, which gives
// it what it may use of the run: most of them only where results go.
type delivery interface {
	// open comes before events are opened: that something cannot be written is
	// better known then.
	open(ctx context.Context, op plan.Operator) error
	// begin comes when the operator runs. The plan may have been built anew
	// since, with an operator of the same kind in the same place.
	begin(ctx context.Context, op plan.Running) error
	// tick shows the interval that ends, and begins the next.
	tick(t *interval) error
	// close frees what open and begin made, also after they failed.
	close() error
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
	about result.Meta // what all results of the interval say, but for loss
}

// meta is what one of the results says, with what is missing in it.
func (t *interval) meta(name, title string, loss event.Loss) result.Meta {
	m := t.about
	m.Name, m.Title, m.Loss = name, title, loss
	return m
}

// undelivered is what most deliveries leave out.
type undelivered struct{}

func (undelivered) open(context.Context, plan.Operator) error { return nil }
func (undelivered) begin(context.Context, plan.Running) error { return nil }
func (undelivered) tick(*interval) error                      { return nil }
func (undelivered) close() error                              { return nil }
func (undelivered) showsLoss() bool                           { return false }
func (undelivered) late() bool                                { return false }

// newDelivery makes the delivery of an operator; nil if it needs none.
func newDelivery(r *run, op plan.Operator) delivery {
	to := &r.results
	switch op := op.(type) {
	case *plan.StacksOp:
		switch op.Spec.File {
		case "":
			return &stackResult{stackCounts: stackCounts{to: to}}
		case output.Profiles:
			return &stackResult{stackCounts: stackCounts{to: to}, aside: true, recorded: r.env.rec.info()}
		default:
			return &stackFile{stackCounts: stackCounts{to: to}, of: r, recorded: r.env.rec.info()}
		}
	case *plan.TimelineOp:
		return &timelineFiles{of: r}
	case *plan.PushOp:
		return &outlet{to: to, env: r.env, clock: &r.clock, in: &r.in}
	case *plan.RecordOp:
		if op.Threads {
			return &threads{of: r}
		}
		return &kernelRecords{of: r}
	case *plan.TableOp:
		return &tableDelivery{to: to}
	case *plan.SilencesOp:
		return &silenceTables{to: to}
	case *plan.DatabaseOp:
		return &databases{to: to, services: r.env.services, queryEnd: r.patience.QueryEnd}
	case *plan.WhyOp:
		return &whyResult{of: r}
	case *plan.HeatOp:
		return &heatMaps{to: to}
	case *plan.Text:
		return answer{to: to, text: op.Text}
	case *plan.LogOp:
		return logLines{to: to}
	case *plan.SlowOp, *plan.TriggerOp, *plan.ExecOp, *plan.EachOp:
		return callbacks{to: to, fire: r.trigger}
	}
	return nil
}

// deliveries are by the plan's operators; nil for those without.
type deliveries []delivery

// open opens the deliveries of all operators.
func (ds *deliveries) open(ctx context.Context, r *run) error {
	for _, op := range r.plan.Operators {
		d := newDelivery(r, op)
		*ds = append(*ds, d)
		if d == nil {
			continue
		}
		if err := d.open(ctx, op); err != nil {
			return err
		}
	}
	return nil
}

// begin connects them with the operators of the final plan.
func (ds deliveries) begin(ctx context.Context, running []plan.Running) error {
	for i, op := range running {
		if d := ds[i]; d != nil {
			if err := d.begin(ctx, op); err != nil {
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

// send ends a batch of what is sent: everything up to a time.
func (ds deliveries) send(until event.Time) error {
	var errs []error
	for _, d := range ds {
		if o, ok := d.(*outlet); ok {
			errs = append(errs, o.round(until))
		}
	}
	return errors.Join(errs...)
}

// tick has all of them show an interval.
func (ds deliveries) tick(t *interval) error {
	for _, late := range []bool{false, true} {
		for _, d := range ds {
			if d == nil || d.late() != late {
				continue
			}
			if err := d.tick(t); err != nil {
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
			errs = append(errs, d.close())
		}
	}
	return errors.Join(errs...)
}
