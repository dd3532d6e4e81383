package session

import (
	"context"

	"ppscript/runtime/event"
	"ppscript/runtime/output/perfetto"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/task"
	"ppscript/runtime/timeline"
)

// This file writes all that happens to a file that shows it along a time axis.

// timelineFile is the delivery of a timeline.
type timelineFile struct {
	undelivered
	of    *run
	file  *picture.Timeline
	build *timeline.Builder
}

func (d *timelineFile) open(ctx context.Context, _ plan.Operator) (err error) {
	d.file, err = picture.OpenTimeline(ctx, d.of.cfg.Options.Timeline)
	return err
}

func (d *timelineFile) begin(_ context.Context, op plan.Running) error {
	r, o := d.of, perfetto.Options{Clock: d.of.results.wall}
	if r.stacks != nil {
		o.Stacks = r.stacks
	}
	machine := perfdata.Here()
	if r.env.rec.file != nil {
		machine = *r.env.rec.file.Info()
	}
	o.Machine = perfetto.Machine{Release: machine.OSRelease, Arch: machine.Arch}
	w, err := d.file.Begin(o)
	if err != nil {
		return err
	}
	b := timeline.Options{Writers: []timeline.Writer{w}, Comm: r.env.tasks.Of, Stacks: r.instance.HasStack}
	if r.env.rec.file == nil {
		b.Process = task.ProcessOf
	}
	d.build = timeline.New(b)
	run := op.(*plan.TimelineRun)
	run.Emit, run.Loses = d.build.Events, d.build.Lost
	return nil
}

func (d *timelineFile) side(e *event.Event) {
	if d.build != nil {
		d.build.Side(e)
	}
}

func (d *timelineFile) tick(t *interval) error {
	d.build.Losses(&d.of.account.total, t.about.End)
	d.file.Flush()
	return nil
}

// letGo implements stackHolder.
func (d *timelineFile) letGo(*runStacks) { d.build.ForgetStacks() }

func (d *timelineFile) close() error {
	if d.file == nil {
		return nil
	}
	err := d.file.Close()
	if err == nil && d.build != nil {
		d.of.results.msgs.note("wrote %s; %s", d.file.Path, d.file.Advice())
	}
	return err
}
