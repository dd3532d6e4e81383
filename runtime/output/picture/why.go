package picture

import (
	"context"
	"errors"
	"time"

	"ppscript/runtime/result"
	"ppscript/runtime/why/story"
)

// A Why is files of stacks that show where the time of slow spans went, over the whole run: the
// critical path as a flame graph. The zero Why has no files.
type Why struct {
	// KernelID is the build-id of the kernel, in hex; "" if unknown.
	KernelID string

	files []*Stacks
	whole *result.Why
}

// mostSpans bounds the spans whose parts are kept for the files, the slowest of the run. The others
// are there by their causes.
const mostSpans = 1000

// Open finds out that a file cannot be written, before anything is opened.
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

// Add takes what was found in an interval. Stacks have their names.
func (p *Why) Add(w *result.Why) {
	if p.whole == nil {
		p.whole = &result.Why{Name: w.Name}
		p.whole.Meta.Name = w.Name
	}
	p.whole.Merge(w, mostSpans)
}

// Stacks is the time until now as stacks.
func (p *Why) Stacks() *result.Stacks {
	if p.whole == nil {
		return &result.Stacks{}
	}
	s := story.Flame(p.whole)
	s.KernelID = p.KernelID
	return s
}

// Close writes the files and closes them. Wrote is called for each that was written; if nothing
// ran, files that were made here are removed.
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
