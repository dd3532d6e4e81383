package diff

import (
	"bytes"
	"context"
	"errors"
	"time"

	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/result/compare"
	"ppscript/runtime/text/diag"
)

// A Baseline compares the results of a running script with saved results, for the option
// --baseline. It renders each result as JSON and reads that, so that the run and the saved file
// are read by the same code.
type Baseline struct {
	path     string
	interval time.Duration
	format   string
	options  compare.TableOptions
	base     *compare.Comparison

	text  bytes.Buffer
	lines render.Renderer // renders as JSON into text
	now   *compare.Comparison
	run   *compare.Records // results of the whole run
}

// OpenBaseline reads a file of saved results. format is the output format of the
// run, in which differences are shown.
func OpenBaseline(path, format string, interval time.Duration) (*Baseline, error) {
	b := &Baseline{path: path, interval: interval, format: format, options: compare.TableOptions{Most: 10},
		base: compare.New(path, "this run")}
	o := options{}
	list, err := o.sources(context.Background(), Environment{}, [2]string{path, ""}, nil)
	if err != nil {
		return nil, err
	}
	err = errors.Join(list.read(b.base), list.close())
	if err != nil {
		return nil, err
	}
	b.now = b.base.Again("this run")
	b.run = b.now.Records(1, "this run")
	b.run.Interval = interval
	b.lines, err = render.New(&b.text, render.Options{Format: "json"})
	return b, err
}

// Beside returns a renderer that shows results on main, and after each interval the differences
// from the baseline.
func (b *Baseline) Beside(main render.Renderer) render.Renderer { return &comparingRenderer{main, b} }

// comparingRenderer passes all results on, and compares tables, stacks and
// lines.
type comparingRenderer struct {
	render.Renderer
	b *Baseline
}

// Show implements render.Renderer.
func (c *comparingRenderer) Show(r result.Result) error {
	if err := c.Renderer.Show(r); err != nil {
		return err
	}
	switch r.(type) {
	case *result.Table, *result.Stacks, *result.Line:
		return c.take(r)
	}
	return nil
}

// take adds a result to the run, and compares it if it is the result of an interval. The last
// result is not compared, since the last interval is seldom complete.
func (c *comparingRenderer) take(x result.Result) error {
	b, m := c.b, x.About()
	if m != nil && m.Aside {
		return nil
	}
	b.text.Reset()
	if err := errors.Join(b.lines.Show(x), b.lines.Flush()); err != nil {
		return err
	}
	for line := range bytes.Lines(b.text.Bytes()) {
		if err := b.run.Add(line); err != nil {
			return err
		}
	}
	if m == nil || m.Seq == 0 || m.Final {
		return nil
	}
	one := b.base.Again("this interval")
	records := one.Records(1, "this interval")
	records.Interval = b.interval
	if err := errors.Join(records.Add(b.text.Bytes()), records.End()); err != nil {
		return err
	}
	r := one.Only(m.Name).Report()
	if b.format == "json" {
		return ShowOn(c.Renderer, b.format, r, b.options)
	}
	if err := c.Renderer.Show(result.TextOf("baseline: " + r.Verdict() + "\n")); err != nil {
		return err
	}
	if r.Differ == 0 {
		return nil
	}
	return c.Renderer.Show(r.Table(b.options))
}

// End compares the whole run with the baseline.
func (b *Baseline) End(to render.Renderer) error {
	if err := b.run.End(); err != nil {
		return diag.Errorf(diag.Run, "compare with", b.path, "%w", err).
			WithHint("the run had no results; let it last longer")
	}
	b.options.Most = 20
	return errors.Join(ShowOn(to, b.format, b.now.Report(), b.options), to.Flush())
}
