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

// FlameGraph is the option whose file has the format that its name implies.
const FlameGraph = "flame-graph"

// A Stacks is a file of call stacks: folded text, a flame graph, or a file for pprof.
type Stacks struct {
	// Path is the path of the file. If the name implied no format, .folded was
	// appended.
	Path   string
	Format render.StackFormat

	fresh bool // the file did not exist before
	f     *os.File
	wrote bool
	base  *result.Stacks // the stacks to compare with, if the picture shows the difference; else nil
}

// OpenStacks opens a file, so that errors are reported before anything runs. An
// existing file of folded stacks is renamed to .old. The option implies the
// format; for FlameGraph, the file's name does.
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

// otherPictures are the extensions of formats that a user may expect but that
// are not supported. Other unknown names mean folded stacks.
var otherPictures = []string{".png", ".jpg", ".jpeg", ".gif", ".pdf", ".webp"}

// maxBase bounds the bytes of folded stacks to compare with; a run cannot count
// more.
const maxBase = 128 << 20

// Compare reads a file of folded stacks, so that the picture shows the
// difference to them. It waits for a pipe until ctx is done.
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

// Against makes the picture show the difference to earlier stacks.
func (f *Stacks) Against(before *result.Stacks) (err error) {
	if f.Format != render.SVGFormat && f.Format != render.HTMLFormat {
		return OnlyPictures(f.Path)
	}
	f.base, err = render.ParseFolded(bytes.NewReader(render.AppendFolded(nil, before, time.Time{})))
	return err
}

// OnlyPictures returns the error for a comparison whose file is no flame graph.
func OnlyPictures(path string) error {
	return diag.Errorf(diag.Usage, "compare stacks", path, "only a flame graph can show a difference").
		WithHint("give --flame-graph a name that ends in .svg or .html")
}

// writeDiff writes the difference to f.base. It converts res to folded stacks
// first, since f.base has only the names of functions.
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

// Write writes stacks. start, if not zero, is put before each line of folded
// text; about is a line in pictures.
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
		// Pipes and terminals cannot be truncated.
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

// Close closes the file. keep says that a run took place; if not, a new file is
// removed.
func (f *Stacks) Close(keep bool) error {
	err := f.f.Close()
	if !keep && f.fresh {
		err = errors.Join(err, os.Remove(f.Path))
	}
	return err
}
