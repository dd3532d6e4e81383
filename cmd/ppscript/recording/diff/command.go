// Package diff implements the command diff, which compares two runs: their saved results, or the
// results of a profiler over two recordings. Package compare does the comparison; this package
// reads the files and options and writes the report.
package diff

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ppscript/runtime/event"
	"ppscript/runtime/output/picture"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/result/chance"
	"ppscript/runtime/result/compare"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// Environment has the parts of the command line that the command uses.
type Environment struct {
	Stdout io.Writer
	Stderr io.Writer
	Say    func(text string)
	// Confine enters the sandbox before files from elsewhere are read. Only the paths in writes
	// stay writable.
	Confine func(writes []string)
}

type options struct {
	output, format, flame string
	per                   string
	least                 float64
	table                 compare.TableOptions
}

// Command returns the subcommand diff.
func Command(env Environment) *cobra.Command {
	o := &options{}
	c := &cobra.Command{
		Use:   "diff BEFORE AFTER [options] [-- PROFILER options]",
		Short: "Compare two runs: what changed by more than noise",
		Long:  `Compares results that runs wrote with --format json or --partials, best with -i: intervals show how much of a change is noise. Separate files of several runs of one kind with commas. Recordings are compared by the results of a profiler, which is named behind --. diff shows the numbers that differ; those that contribute most come first. More: docs/compare.md.`,
		Example: `    ppscript syscalls -i 1s --duration 30s --format json -o before.json -p 1234
    ppscript diff before.json after.json
    ppscript diff before.data after.data --flame-graph diff.svg -- profile -g`,
		RunE: func(c *cobra.Command, args []string) error {
			var script []string
			if at := c.ArgsLenAtDash(); at >= 0 {
				args, script = args[:at], args[at:]
			}
			if len(args) != 2 {
				return diag.Errorf(diag.Usage, "diff", "", "got %d files, want two", len(args)).
					WithHint("write: ppscript diff BEFORE AFTER; files of several runs with commas between them")
			}
			return o.run(c.Context(), env, [2]string{args[0], args[1]}, script)
		},
	}
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "", "write to `FILE`, else to standard output")
	f.StringVar(&o.format, "format", render.Formats()[0], "one of "+strings.Join(render.Formats(), ", "))
	f.StringVar(&o.flame, "flame-graph", "", "draw which functions grew and shrank to `FILE`, .svg or .html")
	f.BoolVar(&o.table.All, "all", false, "also show what does not differ")
	f.IntVar(&o.table.Most, "top", 20, "show so many rows at most")
	f.Float64Var(&o.least, "least", 1, "a change of less than so many percent of the value is no difference")
	f.StringVar(&o.per, "per", compare.Pers[0], "second compares rates; run compares sums, of two runs that "+
		"did the same work; share compares what each row has of its column, whatever the load")
	return c
}

// check finds invalid values of options.
func (o *options) check() error {
	per := slices.Index(compare.Pers[:], o.per)
	o.table.Per = compare.Per(max(0, per))
	switch {
	case per < 0:
		return diag.Errorf(diag.Usage, "option", "--per", "got %q, want %s", o.per,
			strings.Join(compare.Pers[:], ", ")).WithHint("leave it out to compare rates per second")
	case o.least < 0 || o.least >= 100:
		return diag.Errorf(diag.Usage, "option", "--least", "got %g, want 0 to 100", o.least).
			WithHint("write --least 1")
	case o.table.Most < 1:
		return diag.Errorf(diag.Usage, "option", "--top", "got %d, want at least 1", o.table.Most).
			WithHint("write --top 20")
	}
	_, err := render.New(io.Discard, render.Options{Format: o.format})
	return err
}

// run compares two sides and writes the report. script is the profiler for
// recordings, with its options.
func (o *options) run(ctx context.Context, env Environment, sides [2]string, script []string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if ctx == nil {
		ctx = context.Background()
	}
	sources, err := o.sources(ctx, env, sides, script)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sources.close()) }()
	var drawing *picture.Stacks
	var writes []string
	if o.flame != "" {
		if drawing, err = picture.OpenStacks(ctx, o.flame, picture.FlameGraph); err != nil {
			return err
		}
		drawn := false
		defer func() { err = errors.Join(err, drawing.Close(drawn || err == nil)) }()
		writes = append(writes, filepath.Dir(o.flame))
	}
	out := env.Stdout
	if o.output != "" {
		f, err := outfile.Open(ctx, o.output, os.O_CREATE|os.O_TRUNC)
		if err != nil {
			return diag.FileError("write", o.output, err).OrHint("give -o a file that can be written")
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
		writes = append(writes, filepath.Dir(o.output))
	}
	env.Confine(writes)
	c := compare.New(sides[0], sides[1])
	c.Least, c.Per, c.Pictures = o.least/100, o.table.Per, drawing != nil
	if err := sources.read(c); err != nil {
		return err
	}
	if err := Show(out, env.Stderr, o.format, c.Report(), o.table); err != nil {
		return err
	}
	if drawing == nil {
		return nil
	}
	return draw(drawing, c, sides)
}

// draw draws the difference of stacks as a flame graph.
func draw(to *picture.Stacks, c *compare.Comparison, sides [2]string) error {
	before, after := c.Pictured(0), c.Pictured(1)
	if before == nil || after == nil {
		return diag.Errorf(diag.Usage, "draw", to.Path, "there are no stacks in both runs").
			WithHint("record with -g, and compare what has stacks: ppscript diff A.data B.data "+
				"--flame-graph %s -- profile -g", to.Path)
	}
	if err := to.Against(before); err != nil {
		return err
	}
	return to.Write(after, zeroTime, "from "+sides[0]+" to "+sides[1])
}

// Show writes a report to to in a format.
func Show(to, notes io.Writer, format string, r *compare.Report, shown compare.TableOptions) error {
	out, err := render.New(to, render.Options{Format: format, Color: "never", Notes: notes})
	if err != nil {
		return err
	}
	return errors.Join(ShowOn(out, format, r, shown), out.Flush())
}

// ShowOn shows a report on a renderer that also shows other results.
func ShowOn(out render.Renderer, format string, r *compare.Report, shown compare.TableOptions) error {
	if format != "json" {
		if err := out.Show(result.TextOf(r.Head())); err != nil {
			return err
		}
	} else if err := out.Note("diff", fields(r, shown)...); err != nil {
		return err
	}
	if t := r.Table(shown); t != nil {
		if err := out.Show(t); err != nil {
			return err
		}
	}
	if format == "json" {
		return nil
	}
	return out.Show(result.TextOf(r.Foot(shown)))
}

// fields returns the members of the JSON record "diff".
func fields(r *compare.Report, shown compare.TableOptions) []render.NoteField {
	field := func(name string, v event.Value) render.NoteField {
		return render.NoteField{Name: name, Value: v}
	}
	number := func(n int) event.Value { return event.IntOf(int64(n)) }
	return []render.NoteField{
		field("before", event.StrOf(r.Runs[0].Name)), field("after", event.StrOf(r.Runs[1].Name)),
		field("before_seconds", event.FloatOf(r.Runs[0].Seconds)),
		field("after_seconds", event.FloatOf(r.Runs[1].Seconds)),
		field("before_intervals", number(r.Units[0])), field("after_intervals", number(r.Units[1])),
		field("before_missing", event.UintOf(r.Runs[0].Missing)),
		field("after_missing", event.UintOf(r.Runs[1].Missing)),
		field("by_sources", event.BoolOf(r.Sources)),
		field("judged", event.BoolOf(r.Compared > 0)), field("compared", number(r.Compared)),
		field("unjudged", number(r.Unjudged)), field("differ", number(r.Differ)),
		field("level", event.FloatOf(chance.Level)), field("per", event.StrOf(compare.Pers[shown.Per])),
	}
}
