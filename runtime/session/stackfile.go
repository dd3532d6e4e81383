package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/output"
	"ppscript/runtime/output/picture"
	"ppscript/runtime/output/render"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
	"ppscript/runtime/source/perfdata"
	"ppscript/runtime/stack/naming"
	"ppscript/runtime/text/diag"
)

// This file writes the stacks of a run to files: folded text, flame graphs,
// pprof. They are counted over the whole run, independent of the script's
// results. Only folded text is written at each interval, with the interval's
// begin.

// A stackFile delivers counts by stack to one file.
type stackFile struct {
	stackCounts
	of       wholeRun
	recorded *perfdata.Info  // nil: events of this machine
	file     *picture.Stacks // nil: the stacks are printed among the results
	stamped  bool
	since    time.Time // begin of the interval
}

// A wholeRun returns the facts about the run that files show.
type wholeRun interface {
	// whole returns the metadata for a result about the whole run until now.
	whole(now time.Time) result.Meta
	// command returns the command line; "" if unknown.
	command() string
	// caption returns a text with the host and the sampling frequency.
	caption() string
	// begin returns the time at which the run began; ran reports that it began.
	begin() time.Time
	ran() bool
}

// Stdout is a special name for the file of a flame graph: folded stacks are
// printed among the results.
const Stdout = output.Stdout

// Open opens the file, unless the stacks are printed among the results.
func (f *stackFile) Open(ctx context.Context, op plan.Operator) (err error) {
	o, option := &f.to.cfg.Options, op.(*plan.StacksOp).Spec.File
	path := o.Stacks.Path(option)
	if path != Stdout {
		if f.file, err = picture.OpenStacks(ctx, path, option); err != nil {
			return err
		}
	} else if err := printable(option); err != nil {
		return err
	}
	if o.Stacks.FlameBase != "" && option == picture.FlameGraph {
		if f.file == nil {
			return picture.OnlyPictures(path)
		}
		if err := f.file.Compare(ctx, o.Stacks.FlameBase); err != nil {
			return err
		}
	}
	f.stamped = f.format() == render.FoldedFormat && o.Interval > 0
	return nil
}

// printable returns an error if the format of an option is not text.
func printable(option string) error {
	_, suffix, own := render.StackFormatFor(option)
	if !own {
		return nil
	}
	return diag.Errorf(diag.Usage, "write", option, "got no file").
		WithHint("name it, for example: --%s cpu%s", option, suffix)
}

// format returns the format of the file; folded text if stacks are printed
// among the results.
func (f *stackFile) format() render.StackFormat {
	if f.file == nil {
		return render.FoldedFormat
	}
	return f.file.Format
}

// Elsewhere implements plan.Delivery.
func (*stackFile) Elsewhere() bool { return true }

// Tick appends the stacks of the interval to a file that shows intervals.
// Stacks among the results are printed at the end of the run.
func (f *stackFile) Tick(t *plan.Interval) error {
	if !f.stamped && !(t.Final && f.file == nil) {
		return nil
	}
	if err := f.deliver(t.Now); err != nil {
		return err
	}
	f.clear()
	f.since = t.Now
	return nil
}

// letGo implements stackHolder. Dropped samples are counted in the losses of all
// results.
func (f *stackFile) letGo(w *runStacks) {
	show := naming.InPictures
	switch f.format() {
	case render.PprofFormat:
		show = naming.All
	case render.FoldedFormat:
		show = naming.InText
	}
	w.evicted += f.symbolize(w, show)
}

// deliver writes the counts so far.
func (f *stackFile) deliver(now time.Time) error {
	m := f.of.whole(now)
	m.Name, m.Title = f.op.Name, f.op.Spec.Title
	res := f.result(m)
	if f.format() == render.PprofFormat {
		res.KernelID = naming.KernelID(f.recorded)
	}
	start := time.Time{}
	if f.stamped {
		start = f.since
		if start.IsZero() {
			start = f.of.begin()
		}
	}
	if f.file == nil {
		return f.to.out.Show(&result.Text{Bytes: render.AppendFolded(nil, res, start)})
	}
	picture := f.format() == render.SVGFormat || f.format() == render.HTMLFormat
	if picture && res.Title == "" {
		res.Title = f.of.command()
		return f.file.Write(res, start, f.of.caption())
	}
	return f.file.Write(res, start, captionOf(f.of))
}

// captionOf returns the caption for files without a separate place for the
// command line.
func captionOf(r wholeRun) string {
	parts := slices.DeleteFunc([]string{r.command(), r.caption()}, func(s string) bool { return s == "" })
	return strings.Join(parts, ", ")
}

func (r *run) ran() bool { return !r.started.IsZero() }

func (r *run) command() string { return r.cfg.Options.Command }

func (r *run) caption() string {
	var parts []string
	host, _ := os.Hostname()
	if r.env.rec.file != nil {
		host = r.env.rec.file.Info().Hostname
	}
	if host != "" {
		parts = append(parts, "on "+host)
	}
	for _, e := range r.plan.Events {
		if s := e.Source; r.env.rec.file == nil && s.Freq > 0 {
			parts = append(parts, fmt.Sprintf("%d Hz", s.Freq))
			break
		}
	}
	return strings.Join(parts, ", ")
}

// Close writes and closes the file. It also writes it after an error, unless
// the run never began.
func (f *stackFile) Close() error {
	if f.file == nil {
		return nil
	}
	var errs []error
	ran := f.of.ran() && f.op != nil
	if ran {
		f.to.cfg.stage("write " + f.file.Path)
		err := f.deliver(time.Now())
		if errs = append(errs, err); err == nil {
			f.to.msgs.note("wrote %s; %s", f.file.Path, f.file.Format.Advice(f.file.Path))
			m := f.of.whole(time.Now())
			if m.Cost.Sampled() && f.format() == render.FoldedFormat { // folded text has no place for remarks
				f.to.msgs.say("%s: %s", f.file.Path, render.Remarks(&result.Meta{Cost: m.Cost}))
			}
		}
	}
	return errors.Join(append(errs, f.file.Close(ran))...)
}
