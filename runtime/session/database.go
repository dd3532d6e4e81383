package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
)

// databases is the delivery of a database.
type databases struct {
	plan.NoDelivery
	to       *results
	services func() *expr.Services
	queryEnd func() func() error // when a query that begins now has to stop
	db       *database
}

func (d *databases) Open(_ context.Context, op plan.Operator) (err error) {
	to, cfg := d.to, d.to.cfg
	h := databaseHost{
		Permit:   func(path string) error { return cfg.permit(writing(path, path)) },
		Say:      to.msgs.say,
		Verbose:  func(line string) { to.msgs.verbose(1, line) },
		Show:     to.table,
		Services: d.services,
		Memory:   cfg.Options.Limits.budget,
		QueryEnd: d.queryEnd,
		Frames: func(id stack.ID) ([]*result.Frame, bool) {
			if to.stacks == nil {
				return nil, false
			}
			frames, _ := to.stacks.Frames(nil, id)
			return frames, true
		},
	}
	if cfg.Options.Show.NoFiles {
		h.Permit = nil
	}
	d.db, err = openDatabase(op.(*plan.DatabaseOp).Spec, h)
	return err
}

func (d *databases) Begin(_ context.Context, op plan.Running) error {
	return d.db.Begin(op.(*plan.DatabaseRun))
}

func (*databases) Elsewhere() bool { return true }

func (d *databases) ShowsLoss() bool { return true }

func (d *databases) Tick(t *plan.Interval) error {
	if err := d.db.Settle(); err != nil {
		return err
	}
	loss := d.to.missing(t, event.Loss{Dropped: d.db.Dropped()})
	return d.db.Tick(t.Final, func(name, title string) result.Meta { return t.Meta(name, title, loss) })
}

func (d *databases) Close() error {
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}
