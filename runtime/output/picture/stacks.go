package picture

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/system/infile"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// FlameGraph is the option whose files have the form that their names ask for.
const FlameGraph = "flame-graph"

// A Stacks is a file of call stacks: folded text, a flame graph, or for another tool.
type Stacks struct {
	// Path is where it lies; a name that says nothing of the form was given one.
	Path   string
	Format render.StackFormat

	fresh bool // the file was made here
	f     *os.File
	wrote bool
	base  *result.Stacks // of before, if the picture shows the difference
}

// OpenStacks finds out that a file cannot be written, before anything is opened,
// and moves an older file of folded stacks out of the way. The option
// that names it says which form it has; for FlameGraph the name does.
func OpenStacks(ctx context.Context, path, option string) (*Stacks, error) {
	f := &Stacks{Path: path}
	st, err := os.Stat(f.Path)
	special := err == nil && !st.Mode().IsRegular()
	if special && st.IsDir() {
		return nil, f.fail(errors.New("is a directory"))
	}
	format, known := render.StackFormatOf(f.Path)
	f.Format = format
	own, _, has := render.StackFormatFor(option)
	switch {
	case has:
		f.Format = own
	case !known && !special && slices.Contains(otherPictures, strings.ToLower(filepath.Ext(f.Path))):
		return nil, diag.Errorf(diag.Usage, "write", f.Path, "flame graphs are not drawn as %s",
			filepath.Ext(f.Path)).
			WithHint("name it .svg or .html, which browsers show: %s.svg",
				strings.TrimSuffix(f.Path, filepath.Ext(f.Path)))
	case !known && !special:
		f.Path += ".folded"
	}
	if f.Format == render.FoldedFormat && !special {
		if err := os.Rename(f.Path, f.Path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, f.fail(err)
		}
	}
	_, err = os.Stat(f.Path)
	f.fresh = errors.Is(err, os.ErrNotExist)
	if f.f, err = outfile.Open(ctx, f.Path, os.O_CREATE); err != nil {
		return nil, f.fail(err)
	}
	return f, nil
}

// otherPictures are names of pictures that somebody may expect, where any other
// name means folded stacks.
var otherPictures = []string{".png", ".jpg", ".jpeg", ".gif", ".pdf", ".webp"}

// maxBase bounds the folded stacks of before: as many as a run can count.
const maxBase = 128 << 20

// Compare reads the folded stacks that the picture shows the difference to. A
// pipe is waited for as long as the run lasts.
func (f *Stacks) Compare(ctx context.Context, base string) error {
	if f.Format != render.SVGFormat && f.Format != render.HTMLFormat {
		return OnlyPictures(f.Path)
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

// Against has the picture show the difference to stacks of before.
func (f *Stacks) Against(before *result.Stacks) (err error) {
	if f.Format != render.SVGFormat && f.Format != render.HTMLFormat {
		return OnlyPictures(f.Path)
	}
	f.base, err = render.ParseFolded(bytes.NewReader(render.AppendFolded(nil, before, time.Time{})))
	return err
}

// OnlyPictures is the error for a path of text that shall show a difference.
func OnlyPictures(path string) error {
	return diag.Errorf(diag.Usage, "compare stacks", path, "only a flame graph can show a difference").
		WithHint("give --flame-graph a name that ends in .svg or .html")
}

// writeDiff compares folded stacks with folded stacks: names are all that those
// of before have.
func (f *Stacks) writeDiff(w io.Writer, res *result.Stacks, about string) error {
	after, err := render.ParseFolded(bytes.NewReader(render.AppendFolded(nil, res, time.Time{})))
	if err != nil {
		return err
	}
	after.Loss = res.Loss
	o := render.FlameOptions{Title: res.Title, About: about}
	if f.Format == render.HTMLFormat {
		return render.FlameHTML(w, f.base, after, o)
	}
	return render.DiffFlameGraph(w, f.base, after, o)
}

func (f *Stacks) fail(err error) error {
	if err == nil {
		return nil
	}
	return diag.FileError("write stacks", f.Path, err).
		OrHint("give a file in a directory that exists and that you may write to: %s", filepath.Dir(f.Path))
}

// Write replaces what a picture showed, and appends to folded text. Start, if not
// zero, stamps the lines of folded text; about is told in pictures.
func (f *Stacks) Write(res *result.Stacks, start time.Time, about string) error {
	var b bytes.Buffer
	var err error
	if f.base == nil {
		err = render.WriteStacks(&b, f.Format, res, start, about)
	} else {
		err = f.writeDiff(&b, res, about)
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

// Close closes the file. Keep says that something ran: if nothing did, a file that
// was made here is removed.
func (f *Stacks) Close(keep bool) error {
	err := f.f.Close()
	if !keep && f.fresh {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}
