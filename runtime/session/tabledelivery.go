package session

import (
	"context"

	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/text/unit"
)

// tableDelivery delivers a table or a histogram: it is shown at each interval.
type tableDelivery struct {
	plan.NoDelivery
	to    *results
	table *plan.Table
}

// Open opens the file for the table, if there is one; several tables may share
// it.
func (d *tableDelivery) Open(ctx context.Context, op plan.Operator) error {
	return d.to.files.open(ctx, d.to.cfg, op.(*plan.TableOp).Spec.View.File)
}

func (d *tableDelivery) Begin(_ context.Context, op plan.Running) error {
	d.table = op.(*plan.Table)
	return nil
}

func (d *tableDelivery) ShowsLoss() bool { return true }

func (d *tableDelivery) Tick(t *plan.Interval) error {
	defer d.table.Group.Reset()

	loss := d.to.missing(t, d.table.Group.Loss())
	m := t.Meta(d.table.Name, d.table.Spec.View.Title, loss)
	if h := d.to.cfg.Hooks.Parts.Table; h != nil {
		return h(d.table, m, func(t *result.Table) { d.to.stacks.text(t, render.StackText) })
	}
	d.table.Until = t.Until
	table, err := d.table.Result(m)
	if err != nil {
		return err
	}
	d.to.stacks.text(table, render.StackText)
	if d.to.cfg.Options.Clock.TSC {
		inCycles(table)
	}
	if path := d.table.Spec.View.File; path != "" && !d.to.cfg.Options.Show.NoFiles {
		return d.to.files[path].save(table, d.to.wall)
	}
	return d.to.table(table)
}

// kcyc is the unit of durations that were counted in cycles.
var kcyc = unit.Unit{Symbol: "kcyc", Base: "cycles", Scale: 1e3, Prec: 3}

// inCycles replaces microseconds by thousands of cycles as the unit of columns
// that were measured in cycles.
func inCycles(t *result.Table) {
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Unit == unit.US {
			c.Unit = kcyc
		}
	}
}
