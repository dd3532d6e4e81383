package session

import (
	"bufio"
	"errors"
	"os"
	"slices"
	"strconv"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
)

// heatFile is one .lat file being written.
type heatFile struct {
	f *os.File
	w *bufio.Writer
}

// openHeats creates the files of heat maps: that one cannot be written is
// better known before than after.
func (r *run) openHeats() error {
	for _, h := range r.plan.Heats {
		files := map[int]*heatFile{}
		for stream, name := range h.Names {
			path := h.Spec.Prefix + "-" + name + ".lat"
			if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return heatError(path, err)
			}
			f, err := os.Create(path)
			if err != nil {
				return heatError(path, err)
			}
			files[stream] = &heatFile{f, bufio.NewWriterSize(f, 64<<10)}
			r.heats = append(r.heats, files[stream])
		}
		var line []byte
		h.Write = func(stream int, at event.Time, value int64) {
			line = strconv.AppendInt(line[:0], int64(at), 10)
			line = append(line, ' ')
			line = append(strconv.AppendInt(line, value, 10), '\n')
			files[stream].w.Write(line) // an error stays, and comes with Flush
		}
	}
	return nil
}

func heatError(path string, err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return (&diag.Error{Op: "write heat map", Subject: path, Cause: err, Class: diag.Usage}).
		WithHint("give a prefix in a directory that you may write to")
}

func (r *run) closeHeats() error {
	var errs []error
	var names []string
	for _, h := range r.heats {
		errs = append(errs, h.w.Flush(), h.f.Close())
		names = append(names, h.f.Name())
	}
	slices.Sort(names)
	for _, n := range names {
		r.world.say("wrote %s; make a picture of it: trace2heatmap.pl --unitstime=ns --unitslatency=ns %s > %s.svg", n, n, n)
	}
	return errors.Join(errs...)
}

// textOut takes what exec attributes print.
type textOut struct{ r *run }

func (t textOut) Write(b []byte) (int, error) {
	if t.r.failed == nil {
		t.r.failed = t.r.out.Print(b)
	}
	return len(b), nil
}
