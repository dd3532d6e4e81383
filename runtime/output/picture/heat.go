package picture

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strconv"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/system/outfile"
	"ppscript/runtime/text/diag"
)

// A Heat is a .lat file, which lists values with their times, and an SVG heat
// map of them.
type Heat struct {
	lat  *os.File
	w    *bufio.Writer
	path string // without extension
	grid agg.Heat
	line []byte
}

// HeatFiles returns the paths of the files of a heat map: the list, and the
// picture.
func HeatFiles(path string) (lat, svg string) { return path + ".lat", path + ".svg" }

// NewHeat creates the list; Close writes the picture. Files of an earlier run are
// kept as .old.
func NewHeat(ctx context.Context, path string) (*Heat, error) {
	name, _ := HeatFiles(path)
	lat, err := createHeat(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Heat{lat: lat, w: bufio.NewWriterSize(lat, 64<<10), path: path}, nil
}

// Add adds a value.
func (h *Heat) Add(at event.Time, value event.Number) {
	h.line = strconv.AppendInt(h.line[:0], int64(at), 10)
	h.line = append(h.line, ' ')
	h.line = append(append(h.line, value.Value().String()...), '\n')
	h.w.Write(h.line) // Flush returns an error
	h.grid.Add(at, value)
}

// Close draws the picture and closes both files. about sets the description of
// the heat map.
func (h *Heat) Close(about func(*result.Heatmap)) error {
	return errors.Join(h.w.Flush(), h.lat.Close(), h.draw(about))
}

// Map returns the heat map of the values so far.
func (h *Heat) Map() *result.Heatmap { return h.grid.Result(render.HeatRows) }

func (h *Heat) draw(about func(*result.Heatmap)) error {
	m := h.Map()
	about(m)
	_, svg := HeatFiles(h.path)
	f, err := createHeat(context.Background(), svg)
	if err != nil {
		return err
	}
	return errors.Join(render.HeatMap(f, m), f.Close())
}

// createHeat creates a file; an existing file is kept as .old.
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
