package session

import (
	"bufio"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"ppscript/runtime/agg"
	"ppscript/runtime/diag"
	"ppscript/runtime/event"
	"ppscript/runtime/outfile"
	"ppscript/runtime/plan"
	"ppscript/runtime/render"
)

// heatFile is one .lat file being written, and the picture of what is in it.
type heatFile struct {
	lat   *os.File
	w     *bufio.Writer
	svg   string // path of the picture
	grid  agg.Heat
	title string
	run   *plan.HeatRun
}

// heatMaps is the delivery of a heat map: a file for each kind of event.
type heatMaps struct {
	undelivered
	to    *results
	files []*heatFile
}

// begin creates the files: that one cannot be written is better known before
// than after.
func (d *heatMaps) begin(ctx context.Context, op plan.Running) error {
	h := op.(*plan.HeatRun)
	if d.to.cfg.Options.Show.NoFiles {
		h.Write = func(int, event.Time, int64) {}
		return nil
	}
	byStream := map[int]*heatFile{}
	for stream, name := range h.Names {
		path := h.Spec.Prefix + "-" + name
		for _, file := range []string{path + ".lat", path + ".svg"} {
			if err := d.to.cfg.permit(Writes, file, h.Spec.Prefix); err != nil {
				return err
			}
		}
		lat, err := createHeat(ctx, path+".lat")
		if err != nil {
			return err
		}
		f := &heatFile{lat: lat, w: bufio.NewWriterSize(lat, 64<<10), svg: path + ".svg", title: name, run: h}
		byStream[stream] = f
		d.files = append(d.files, f)
	}

	var line []byte
	h.Write = func(stream int, at event.Time, value int64) {
		f := byStream[stream]
		line = strconv.AppendInt(line[:0], int64(at), 10)
		line = append(line, ' ')
		line = append(strconv.AppendInt(line, value, 10), '\n')
		f.w.Write(line) // an error stays, and comes with Flush
		f.grid.Add(at, value)
	}
	return nil
}

// close writes the pictures.
func (d *heatMaps) close() error {
	var errs []error
	slices.SortFunc(d.files, func(a, b *heatFile) int { return strings.Compare(a.svg, b.svg) })
	for _, f := range d.files {
		d.to.cfg.stage("write " + f.svg)
		errs = append(errs, f.w.Flush(), f.lat.Close(), f.draw(d.to.account.total))
		d.to.msgs.note("wrote %s, and %s for trace2heatmap.pl --unitstime=ns --unitslatency=ns", f.svg,
			f.lat.Name())
	}
	return errors.Join(errs...)
}

// createHeat creates a file; one that is there already is kept as .old.
func createHeat(ctx context.Context, path string) (*os.File, error) {
	if err := os.Rename(path, path+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, heatError(path, err)
	}
	f, err := outfile.Open(ctx, path, os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, heatError(path, err)
	}
	return f, nil
}

func heatError(path string, err error) error {
	return diag.FileError("write heat map", path, err).
		OrHint("give a prefix in a directory that you may write to")
}

func (h *heatFile) draw(loss event.Loss) error {
	m := h.grid.Result(render.HeatRows)
	m.Title, m.Loss, m.Final = h.title, loss, true
	m.Value, m.Unit = h.run.Spec.Value.Text, h.run.Unit
	f, err := createHeat(context.Background(), h.svg)
	if err != nil {
		return err
	}
	return errors.Join(render.HeatMap(f, m), f.Close())
}
