package session

import (
	"context"
	"errors"
	"os"

	"ppscript/runtime/diag"
	"ppscript/runtime/outfile"
	"ppscript/runtime/render"
	"ppscript/runtime/result"
)

// A tableFile takes tables in place of the output, as text behind the old content.
type tableFile struct {
	file *os.File
	out  render.Renderer // nil before the first table
}

// openTableFile opens a file that tables go to, unless it is open or there is
// none.
func (r *run) openTableFile(ctx context.Context, path string) error {
	if path == "" || r.tables[path] != nil || r.cfg.Options.Show.NoFiles {
		return nil
	}
	if err := r.env.cfg.permit(Writes, path, path); err != nil {
		return err
	}
	f, err := outfile.Open(ctx, path, os.O_CREATE|os.O_APPEND)
	if err != nil {
		return diag.FileError("open", path, err).OrHint("give a file that can be written")
	}
	if r.tables == nil {
		r.tables = map[string]*tableFile{}
	}
	r.tables[path] = &tableFile{file: f}
	return nil
}

// save writes a table to its file.
func (r *run) save(path string, t *result.Table) error {
	f := r.tables[path]
	if f.out == nil {
		var err error
		if f.out, err = render.New(f.file, render.Options{Color: "never", Clock: r.wall()}); err != nil {
			return err
		}
	}
	return errors.Join(f.out.Table(t), f.out.Flush())
}

func (r *run) closeTableFiles() error {
	var errs []error
	for _, f := range r.tables {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(errs...)
}
