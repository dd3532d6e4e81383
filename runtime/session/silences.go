package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
)

// silenceTables is the delivery of silences: at each interval those that were over.
type silenceTables struct {
	undelivered
	to  *results
	run *plan.SilencesRun
}

func (d *silenceTables) begin(_ context.Context, op plan.Running) error {
	d.run = op.(*plan.SilencesRun)
	return nil
}

func (*silenceTables) showsLoss() bool { return true }

func (d *silenceTables) tick(t *interval) error {
	until := d.to.account.until
	if t.final {
		until = 0
	}
	table, err := d.run.Result(t.meta(d.run.Name, "", event.Loss{}), until)
	if err != nil {
		return err
	}
	table.Loss = d.to.missing(t, d.run.Missing())
	return d.to.table(table)
}
