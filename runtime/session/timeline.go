package session

import (
	"context"
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/output/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/target/task"
)

// This file writes timeline files, which show all events along a time axis.

// timelineFiles delivers a timeline to files.
type timelineFiles struct {
	plan.NoDelivery
	of    *run
	files []*picture.Timeline
	opt   timeline.Options
	build *timeline.Builder // nil until events flow
}

func (d *timelineFiles) Open(ctx context.Context, _ plan.Operator) error {
	for _, f := range d.of.cfg.Options.Timeline.List() {
		file, err := picture.OpenTimeline(ctx, f.Option, f.Path)
		if err != nil {
			return err
		}
		d.files = append(d.files, file)
	}
	return nil
}

func (d *timelineFiles) Begin(_ context.Context, op plan.Running) error {
	r := d.of
	machine := perfdata.Here()
	if r.env.rec.file != nil {
		machine = *r.env.rec.file.Info()
	}
	about := timeline.About{Clock: r.results.wall, Release: machine.OSRelease, Arch: machine.Arch,
		Caption: captionOf(r)}
	if r.stacks != nil {
		about.Stacks = r.stacks
	}
	d.opt = timeline.Options{Comm: r.env.tasks.Of, Stacks: r.instance.HasStack}
	if r.env.rec.file == nil {
		d.opt.Process = task.ProcessOf
	}
	for _, f := range d.files {
		w, err := f.Begin(about)
		if err != nil {
			return err
		}
		d.opt.Writers = append(d.opt.Writers, w)
	}
	d.build = timeline.New(d.opt)
	run := op.(*plan.TimelineRun)
	run.Emit, run.Loses = d.build.Events, d.build.Lost
	return nil
}

func (d *timelineFiles) side(e *event.Event) {
	if d.build != nil {
		d.build.Side(e)
	}
}

func (*timelineFiles) Elsewhere() bool { return true }

func (d *timelineFiles) Tick(t *plan.Interval) error {
	d.build.Losses(&d.of.account.total, t.About.End)
	d.build.Observed(t.About.Cost, t.About.End)
	for _, w := range d.opt.Writers {
		w.Flush() // Close returns the error
	}
	return nil
}

// letGo implements stackHolder.
func (d *timelineFiles) letGo(*runStacks) { d.build.ForgetStacks() }

func (d *timelineFiles) Close() error {
	var errs []error
	for _, f := range d.files {
		d.of.cfg.stage("write " + f.Path)
		err := f.Close()
		if errs = append(errs, err); err == nil && d.build != nil {
			d.of.results.msgs.note("wrote %s; %s", f.Path, f.Advice())
			if n := d.build.Uncounted(); n > 0 {
				d.of.results.msgs.note("%s: no room for %d numbers of rows of tables", f.Path, n)
			}
		}
	}
	return errors.Join(errs...)
}
