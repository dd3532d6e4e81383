package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/diag"
	"ppscript/runtime/infile"
	"ppscript/runtime/naming"
	"ppscript/runtime/outfile"
	"ppscript/runtime/perfdata"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
)

// This file writes the stacks of a run to files: folded text, flame graphs,
// pprof. They are counted apart from what the script shows, over the whole run;
// only folded text comes interval by interval, stamped with its beginning.

// A stackFile is the delivery of counts by stack that go to a file.
type stackFile struct {
	stackCounts
	of       wholeRun
	recorded *perfdata.Info // nil: the events are of this machine
	path     string         // "-" is the output of results
	format   render.StackFormat
	stamped  bool
	fresh    bool // the file was made here
	f        *os.File
	since    time.Time // begin of the interval
	wrote    bool
	about    string
	base     *result.Stacks // of before, if the picture shows the difference
}

// A wholeRun is what a file tells of the run.
type wholeRun interface {
	// whole is what a result says that is about the whole run until now.
	whole(now time.Time) result.Meta
	// caption is what a picture tells: the command, the host, how often was sampled.
	caption() string
	// began is when; ran reports that it did.
	began() time.Time
	ran() bool
}

// Stdout as StackFiles.FlameGraph prints folded stacks among the results.
const Stdout = "-"

// fileReports are the counts that the files of o need, for what the script
// reports: its stacks, else the events of its first log, else of its first
// result.
func fileReports(o *Options, reports []plan.Report) ([]plan.Report, error) {
	if o.Stacks.FlameGraph == "" && o.Stacks.Pprof == "" {
		return nil, nil
	}
	spec := stacksOf(reports)
	if spec == nil {
		return nil, diag.Errorf(diag.Usage, "flame graph", o.Stacks.FlameGraph+o.Stacks.Pprof,
			"the script reports no events that could have stacks").
			WithHint("use it with a script that shows or counts events, such as profile or trace")
	}
	var list []plan.Report
	for _, path := range []string{o.Stacks.FlameGraph, o.Stacks.Pprof} {
		if path != "" {
			s := *spec
			s.File, s.Top, s.Periods = true, 0, path == o.Stacks.Pprof
			list = append(list, &s)
		}
	}
	return list, nil
}

func stacksOf(reports []plan.Report) *plan.Stacks {
	for _, r := range reports {
		if s, ok := r.(*plan.Stacks); ok {
			return s
		}
	}
	for _, r := range reports {
		if l, ok := r.(*plan.Log); ok {
			return &plan.Stacks{In: l.In, Title: l.Title}
		}
	}
	for _, r := range reports {
		switch r.(type) {
		case *plan.Group, *plan.Each:
			return &plan.Stacks{In: r.Input()}
		}
	}
	return nil
}

// open finds out that a file cannot be written before anything is opened, and
// moves an older file of folded stacks out of the way.
func (f *stackFile) open(ctx context.Context, op plan.Operator) error {
	o, pprof := &f.to.cfg.Options, op.(*plan.StacksOp).Spec.Periods
	if f.path = o.Stacks.FlameGraph; pprof {
		f.path = o.Stacks.Pprof
	}
	if err := f.create(ctx, pprof); err != nil {
		return err
	}
	if o.Stacks.FlameBase != "" && !pprof {
		if err := f.compare(ctx, o.Stacks.FlameBase); err != nil {
			return err
		}
	}
	f.stamped = f.format == render.FoldedFormat && o.Interval > 0
	return nil
}

func (f *stackFile) create(ctx context.Context, pprof bool) error {
	if f.path == Stdout {
		if pprof {
			return diag.Errorf(diag.Usage, "write", "pprof", "got no file").
				WithHint("name it, for example: --pprof cpu.pb.gz")
		}
		return nil
	}
	st, err := os.Stat(f.path)
	special := err == nil && !st.Mode().IsRegular()
	if special && st.IsDir() {
		return f.fail(errors.New("is a directory"))
	}
	format, known := render.StackFormatOf(f.path)
	f.format = format
	switch {
	case pprof:
		f.format = render.PprofFormat
	case !known && !special && slices.Contains(otherPictures, strings.ToLower(filepath.Ext(f.path))):
		return diag.Errorf(diag.Usage, "write", f.path, "flame graphs are not drawn as %s",
			filepath.Ext(f.path)).
			WithHint("name it .svg or .html, which browsers show: %s.svg",
				strings.TrimSuffix(f.path, filepath.Ext(f.path)))
	case !known && !special:
		f.path += ".folded"
	}
	if f.format == render.FoldedFormat && !special {
		if err := os.Rename(f.path, f.path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return f.fail(err)
		}
	}
	_, err = os.Stat(f.path)
	f.fresh = errors.Is(err, os.ErrNotExist)
	f.f, err = outfile.Open(ctx, f.path, os.O_CREATE)
	return f.fail(err)
}

// otherPictures are names of pictures that somebody may expect, where any other
// name means folded stacks.
var otherPictures = []string{".png", ".jpg", ".jpeg", ".gif", ".pdf", ".webp"}

// maxBase bounds the folded stacks of before: as many as a run can count.
const maxBase = 128 << 20

// compare reads the folded stacks that the picture shows the difference to. A
// pipe is waited for as long as the run lasts.
func (f *stackFile) compare(ctx context.Context, base string) error {
	if f.format != render.SVGFormat && f.format != render.HTMLFormat {
		return diag.Errorf(diag.Usage, "compare stacks", f.path, "only a flame graph can show a difference").
			WithHint("give --flame-graph a name that ends in .svg or .html")
	}
	fail := func(err error) error {
		return diag.Errorf(diag.Usage, "read folded stacks", base, "%w", diag.Reason(err)).
			WithHint("write one with: --flame-graph %s", base)
	}
	file, err := infile.Open(base, maxBase)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	var text bytes.Buffer
	if err := file.CopyTo(ctx, &text); err != nil {
		return fail(err)
	}
	if f.base, err = render.ParseFolded(&text); err != nil {
		e := &diag.Error{Op: "read folded stacks", Subject: base, Cause: err}
		return e.WithHint("%s", diag.HintOf(err))
	}
	if n, v := f.base.Total(); n == 0 && v == 0 {
		return diag.Errorf(diag.Usage, "read folded stacks", base, "it has no samples to compare with").
			WithHint("record it for longer, or with more samples a second: ppscript profile -g -F 997 --flame-graph %s", base)
	}
	return nil
}

// writeDiff compares folded stacks with folded stacks: names are all that those
// of before have.
func (f *stackFile) writeDiff(w io.Writer, res *result.Stacks) error {
	after, err := render.ParseFolded(bytes.NewReader(render.AppendFolded(nil, res, time.Time{})))
	if err != nil {
		return err
	}
	after.Loss = res.Loss
	o := render.FlameOptions{Title: res.Title, About: f.about}
	if f.format == render.HTMLFormat {
		return render.FlameHTML(w, f.base, after, o)
	}
	return render.DiffFlameGraph(w, f.base, after, o)
}

func (f *stackFile) fail(err error) error {
	if err == nil {
		return nil
	}
	return diag.FileError("write stacks", f.path, err).
		OrHint("give a file in a directory that exists and that you may write to: %s", filepath.Dir(f.path))
}

// tick appends the stacks of the interval that ends to a file that shows
// intervals, and prints what goes to the output of results at the end.
func (f *stackFile) tick(t *interval) error {
	if !f.stamped && !(t.final && f.path == Stdout) {
		return nil
	}
	if err := f.deliver(t.now); err != nil {
		return err
	}
	f.clear()
	f.since = t.now
	return nil
}

// letGo implements stackHolder. What gives way is told with the results of others.
func (f *stackFile) letGo(w *runStacks) {
	show := naming.InPictures
	switch f.format {
	case render.PprofFormat:
		show = naming.All
	case render.FoldedFormat:
		show = naming.InText
	}
	w.evicted += f.symbolize(w, show)
}

// deliver writes what was counted.
func (f *stackFile) deliver(now time.Time) error {
	m := f.of.whole(now)
	m.Name, m.Title = f.op.Name, f.op.Spec.Title
	res := f.result(m)
	if f.format == render.PprofFormat {
		res.KernelID = naming.KernelID(f.recorded)
	}
	start := time.Time{}
	if f.stamped {
		start = f.since
		if start.IsZero() {
			start = f.of.began()
		}
	}
	if f.path == Stdout {
		return f.to.out.Print(render.AppendFolded(nil, res, start))
	}
	f.about = f.of.caption()
	return f.write(res, start)
}

func (r *run) ran() bool { return !r.started.IsZero() }

func (r *run) caption() string {
	var parts []string
	if c := r.cfg.Options.Command; c != "" {
		parts = append(parts, c)
	}
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

func (f *stackFile) write(res *result.Stacks, start time.Time) error {
	var b bytes.Buffer
	var err error
	if f.base == nil {
		err = render.WriteStacks(&b, f.format, res, start, f.about)
	} else {
		err = f.writeDiff(&b, res)
	}
	if err != nil {
		return err
	}
	if !f.wrote {
		// A pipe or a terminal has no length.
		if st, err := f.f.Stat(); err == nil && st.Mode().IsRegular() {
			if err := f.f.Truncate(0); err != nil {
				return f.fail(err)
			}
		}
	}
	f.wrote = true
	_, err = f.f.Write(b.Bytes())
	return f.fail(err)
}

// close writes the file and closes it. It does so however the run ended, unless
// nothing was opened.
func (f *stackFile) close() error {
	var errs []error
	ran := f.of.ran() && f.op != nil
	if ran && f.path != Stdout {
		f.to.cfg.stage("write " + f.path)
		err := f.deliver(time.Now())
		if errs = append(errs, err); err == nil {
			f.to.msgs.note("wrote %s%s", f.path, f.advice())
		}
	}
	if f.f != nil {
		errs = append(errs, f.f.Close())
		if !ran && f.fresh {
			errs = append(errs, os.Remove(f.path))
		}
	}
	return errors.Join(errs...)
}

// advice is what to do with the file.
func (f *stackFile) advice() string {
	switch f.format {
	case render.PprofFormat:
		return "; look at it with: go tool pprof -http=: " + f.path
	case render.FoldedFormat:
		return "; make a picture of it: flamegraph.pl " + f.path + " > " +
			strings.TrimSuffix(f.path, ".folded") + ".svg"
	}
	return "; open it in a browser"
}
