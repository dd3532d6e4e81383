package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/session/database"
	"ppscript/runtime/stack"
)

// databases is the delivery of a database.
type databases struct {
	undelivered
	to       *results
	services func() *expr.Services
	queryEnd func() func() error // when a query that begins now has to stop
	db       *database.Database
}

func (d *databases) open(_ context.Context, op plan.Operator) (err error) {
	to, cfg := d.to, d.to.cfg
	h := database.Host{
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
	d.db, err = database.Open(op.(*plan.DatabaseOp).Spec, h)
	return err
}

func (d *databases) begin(_ context.Context, op plan.Running) error {
	return d.db.Begin(op.(*plan.DatabaseRun))
}

func (d *databases) showsLoss() bool { return true }

func (d *databases) tick(t *interval) error {
	if err := d.db.Settle(); err != nil {
		return err
	}
	loss := d.to.missing(t, event.Loss{Dropped: d.db.Dropped()})
	return d.db.Tick(t.final, func(name, title string) result.Meta { return t.meta(name, title, loss) })
}

func (d *databases) close() error {
	if d.db == nil {
		return nil
	}
	return d.db.Close()
}
