package session

import (
	"context"
	"errors"
	"os"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// A tableFile is a file to which tables are appended as text, instead of being
// shown.
type tableFile struct {
	file *os.File
	out  render.Renderer // nil before the first table
}

// tableFiles has the open files by path.
type tableFiles map[string]*tableFile

// open opens the file at a path, unless it is open already or path is "".
func (fs tableFiles) open(ctx context.Context, cfg *Config, path string) error {
	if path == "" || fs[path] != nil || cfg.Options.Show.NoFiles {
		return nil
	}
	if err := cfg.permit(writing(path, path)); err != nil {
		return err
	}
	f, err := outfile.Open(ctx, path, os.O_CREATE|os.O_APPEND)
	if err != nil {
		return diag.FileError("open", path, err).OrHint("give a file that can be written")
	}
	fs[path] = &tableFile{file: f}
	return nil
}

// save writes a table to its file.
func (f *tableFile) save(t *result.Table, clock func(event.Time) time.Time) error {
	if f.out == nil {
		var err error
		if f.out, err = render.New(f.file, render.Options{Color: "never", Clock: clock}); err != nil {
			return err
		}
	}
	return errors.Join(f.out.Show(t), f.out.Flush())
}

func (fs tableFiles) close() error {
	var errs []error
	for _, f := range fs {
		errs = append(errs, f.file.Close())
	}
	return errors.Join(errs...)
}
