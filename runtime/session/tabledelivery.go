package session

import (
	"context"

	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
	"ppscript/runtime/unit"
)

// tableDelivery shows a table, or a histogram, at each interval.
type tableDelivery struct {
	undelivered
	table *plan.Table
}

// open opens the file that the table goes to, if there is one; several tables
// may share it.
func (d *tableDelivery) open(ctx context.Context, r *run, op plan.Operator) error {
	return r.results.files.open(ctx, r.cfg, op.(*plan.TableOp).Spec.View.File)
}

func (d *tableDelivery) begin(_ context.Context, _ *run, op plan.Running) error {
	d.table = op.(*plan.Table)
	return nil
}

func (d *tableDelivery) showsLoss() bool { return true }

func (d *tableDelivery) tick(r *run, t *interval) error {
	defer d.table.Group.Reset()

	own := d.table.Group.Loss()
	r.account.total.Add(own)
	loss := t.loss
	loss.Add(own)
	m := r.meta(d.table.Name, d.table.Spec.View.Title, loss, t)
	if d.table.Hist >= 0 {
		h, err := d.table.Histogram(m)
		if err != nil {
			return err
		}
		return r.results.out.Histogram(h)
	}

	if d.table.Until = 0; !t.final {
		d.table.Until = r.account.until
	}
	table, err := d.table.Result(m)
	if err != nil {
		return err
	}
	r.stacks.text(table, render.StackText)
	if r.cfg.Options.Clock.TSC {
		inCycles(table)
	}
	if path := d.table.Spec.View.File; path != "" && !r.cfg.Options.Show.NoFiles {
		return r.results.files[path].save(table, r.wall())
	}
	return r.results.table(table)
}

// inCycles says that times were told in cycles.
func inCycles(t *result.Table) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Unit == unit.US {
			c.Unit = kcyc
		}
	}
}
