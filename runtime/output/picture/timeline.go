package picture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ppscript/runtime/output/firefox"
	"ppscript/runtime/output/perfetto"
	"ppscript/runtime/result/timeline"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// The options with files of timelines.
const (
	Perfetto = "perfetto"
	Firefox  = "firefox"
)

// A Timeline is a file that shows events on a time axis.
type Timeline struct {
	Path   string
	option string
	file   *os.File
	fresh  bool            // the file did not exist before
	w      timeline.Writer // nil until Begin
}

// OpenTimeline opens a file, so that errors are reported before anything runs.
func OpenTimeline(ctx context.Context, option, path string) (*Timeline, error) {
	t := &Timeline{Path: path, option: option}
	st, err := os.Stat(path)
	t.fresh = errors.Is(err, os.ErrNotExist)
	if err == nil && st.IsDir() {
		return nil, t.fail(errors.New("is a directory"))
	}
	if t.file, err = outfile.Open(ctx, path, os.O_CREATE); err != nil {
		return nil, t.fail(err)
	}
	return t, nil
}

func (t *Timeline) fail(err error) error {
	return diag.FileError("write timeline", t.Path, err).
		OrHint("give a file in a directory that exists and that you may write to: %s", filepath.Dir(t.Path))
}

// Begin truncates the file before the first event, and returns the Writer. Close
// returns errors of writing; they do not end the run.
func (t *Timeline) Begin(o timeline.About) (timeline.Writer, error) {
	if st, err := t.file.Stat(); err == nil && st.Mode().IsRegular() {
		if err := t.file.Truncate(0); err != nil {
			return nil, t.fail(err)
		}
	}
	if t.option == Firefox {
		t.w = firefox.New(t.file, o)
	} else {
		t.w = perfetto.New(t.file, o)
	}
	return t.w, nil
}

// Close ends the file. A new file is removed if the run did not begin.
func (t *Timeline) Close() error {
	var errs []error
	if t.w != nil {
		if err := t.w.Close(); err != nil {
			errs = append(errs, t.fail(errors.Unwrap(err)))
		}
	}
	errs = append(errs, t.file.Close())
	if t.w == nil && t.fresh {
		errs = append(errs, os.Remove(t.Path))
	}
	return errors.Join(errs...)
}

// Advice returns a text that says how to open the file.
func (t *Timeline) Advice() string {
	if f, is := t.w.(*firefox.Writer); is {
		advice := "open it in a browser: https://profiler.firefox.com"
		if n := f.Dropped(); n > 0 {
			advice += fmt.Sprintf("; it has the first %d samples and markers, not %d that came later",
				firefox.Most, n)
		}
		return advice
	}
	return "open it in a browser: https://ui.perfetto.dev"
}
