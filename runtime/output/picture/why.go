package picture

import (
	"context"
	"errors"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/why/story"
)

// A Why is files of stacks that explain the slow spans of the whole run: the critical path as a
// flame graph. The zero Why has no files.
type Why struct {
	// KernelID is the build-id of the kernel, in hex; "" if unknown.
	KernelID string

	files []*Stacks
	whole *result.Why
}

// mostSpans bounds the spans whose parts are kept for the files: the slowest of the run. The other
// spans are included only by their causes.
const mostSpans = 1000

// Open opens a file, so that errors are reported before anything runs.
func (p *Why) Open(ctx context.Context, path, option, base string) error {
	f, err := OpenStacks(ctx, path, option)
	if err != nil {
		return err
	}
	p.files = append(p.files, f)
	if base == "" || option != FlameGraph {
		return nil
	}
	return f.Compare(ctx, base)
}

// Add merges the explanation of an interval, whose stacks have names.
func (p *Why) Add(w *result.Why) {
	if p.whole == nil {
		p.whole = &result.Why{Name: w.Name}
		p.whole.Meta.Name = w.Name
	}
	p.whole.Merge(w, mostSpans)
}

// Stacks returns the time so far as stacks.
func (p *Why) Stacks() *result.Stacks {
	if p.whole == nil {
		return &result.Stacks{}
	}
	s := story.Flame(p.whole)
	s.KernelID = p.KernelID
	return s
}

// Close writes and closes the files, and calls wrote for each written file. If the run did not
// begin, new files are removed.
func (p *Why) Close(caption string, ran bool, wrote func(path, advice string)) error {
	var errs []error
	for _, f := range p.files {
		if ran {
			err := f.Write(p.Stacks(), time.Time{}, caption)
			if errs = append(errs, err); err == nil {
				wrote(f.Path, f.Format.Advice(f.Path))
			}
		}
		errs = append(errs, f.Close(ran))
	}
	p.files = nil
	return errors.Join(errs...)
}
