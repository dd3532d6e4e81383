package session

import (
	"context"
	"time"

	"ppscript/runtime/output/picture"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack/naming"
)

// This file writes the explanations of slow spans to the files of a run: as stacks of the
// critical path over the whole run, and as slices of timelines.

// whyFiles has the files for the first such result of a script, which is also shown among the
// results.
type whyFiles struct {
	of     *run
	stacks picture.Why
	needed bool
	folded bool // stacks are printed as folded text among the results
}

// open opens the files, so that a file that cannot be written is an error
// before the run.
func (f *whyFiles) open(ctx context.Context, op plan.Operator) error {
	o := &f.of.cfg.Options.Stacks
	if !f.first(op) {
		return nil
	}
	f.stacks.KernelID = naming.KernelID(f.of.env.rec.info())
	for _, file := range o.List() {
		f.needed = true
		if file.Path == Stdout {
			if err := printable(file.Option); err != nil {
				return err
			}
			f.folded = true
			continue
		}
		if err := f.stacks.Open(ctx, file.Path, file.Option, o.FlameBase); err != nil {
			return err
		}
	}
	return nil
}

// first reports that the files show the result of this operator: it is the first of its kind,
// and no counts by stack go to files.
func (f *whyFiles) first(op plan.Operator) bool {
	for _, s := range plan.Of[*plan.StacksOp](f.of.plan) {
		if s.Spec.File != "" {
			return false
		}
	}
	return plan.Operator(plan.Of[*plan.WhyOp](f.of.plan)[0]) == op
}

// add adds the result of an interval.
func (f *whyFiles) add(w *result.Why, final bool) error {
	for _, d := range f.of.results.deliveries {
		if t, ok := d.(*timelineFiles); ok && t.build != nil {
			t.build.Why(w.Slowest)
		}
	}
	if f.needed {
		f.stacks.Add(w)
	}
	if f.folded && final {
		folded := render.AppendFolded(nil, f.stacks.Stacks(), time.Time{})
		return f.of.results.out.Show(&result.Text{Bytes: folded})
	}
	return nil
}

// close writes the files, or removes them if the run never began.
func (f *whyFiles) close(ran bool) error {
	return f.stacks.Close(captionOf(f.of), ran && f.of.ran(), func(path, advice string) {
		f.of.results.msgs.note("wrote %s; %s", path, advice)
	})
}
