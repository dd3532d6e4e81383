package session

import (
	"context"
	"errors"

	"ppscript/runtime/event"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/stack"
	"ppscript/runtime/why/whyfacts"
)

// whyResult delivers the explanations of slow spans.
type whyResult struct {
	plan.NoDelivery
	of    *run
	run   *plan.WhyRun     // nil until begin
	facts *whyfacts.Source // nil until begin
	files whyFiles
}

func (d *whyResult) Open(ctx context.Context, op plan.Operator) error {
	d.files.of = d.of
	return d.files.open(ctx, op)
}

func (d *whyResult) Close() error {
	if d.facts != nil {
		d.facts.Close()
	}
	return d.files.close(d.run != nil)
}

func (d *whyResult) Begin(_ context.Context, op plan.Running) error {
	d.run = op.(*plan.WhyRun)
	c := whyfacts.Config{Comm: d.of.env.tasks.Comm, Recorded: d.of.env.rec.file != nil,
		Now: d.of.present, Names: d.of.cfg.Options.Names}
	if c.Recorded {
		c.Cgroup = d.of.env.cgroups.table.At
	}
	d.facts = whyfacts.Open(c)
	know := &d.run.Facts
	know.Arch, know.Site = d.of.env.rec.arch(), d.site
	if d.of.stacks != nil || !c.Recorded {
		know.Function = d.of.env.events.here.Symbols.Name
	}
	d.facts.Fill(know)
	return nil
}

// site names the place in the kernel code that takes a lock, from the stack at
// that moment.
func (d *whyResult) site(id stack.ID) string {
	if d.of.stacks == nil {
		return ""
	}
	frames, _ := d.of.stacks.Frames(nil, id)
	return whyfacts.Site(frames)
}

func (*whyResult) ShowsLoss() bool { return true }

func (d *whyResult) Tick(t *plan.Interval) error {
	w := d.run.Result(t.Meta(d.run.Name, "", d.of.results.missing(t, event.Loss{})))
	d.name(w)
	return errors.Join(d.of.results.out.Show(w), d.files.add(w, t.Final))
}

// name fills in the names of containers, and the functions in the stacks of the spans that are
// listed one by one.
func (d *whyResult) name(w *result.Why) {
	d.facts.Name(w)
	for _, s := range w.Slowest {
		for i := range s.Parts {
			for _, l := range s.Parts[i].Path {
				d.stack(w, l.Stack)
				d.stack(w, l.WakerStack)
			}
		}
	}
}

func (d *whyResult) stack(w *result.Why, id stack.ID) {
	if _, known := w.Stacks[id]; known || id == 0 || d.of.stacks == nil {
		return
	}
	if w.Stacks == nil {
		w.Stacks = map[stack.ID]result.CallStack{}
	}
	frames, from := d.of.stacks.Frames(nil, id)
	w.Stacks[id] = result.CallStack{Frames: frames, Cut: from.Cut}
}
