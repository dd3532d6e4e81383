package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ppscript/runtime/event"
	"ppscript/runtime/output/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// heatFile has the files for one kind of event.
type heatFile struct {
	*picture.Heat
	lat, svg string
	title    string
	run      *plan.HeatRun
}

// heatMaps delivers a heat map to files, one set for each kind of event.
type heatMaps struct {
	plan.NoDelivery
	to    *results
	files []*heatFile
	ctx   context.Context
	run   *plan.HeatRun
	by    map[heatKey]*heatFile
	names map[string]bool // of the files that are by a value
	more  map[string]bool // values without a file of their own
	err   error           // the first file that could not be made
}

// A heatKey identifies the events of a file.
type heatKey struct {
	stream int
	by     string
}

// mostHeatFiles bounds the files that are by a value: each is open, and keeps its map.
const mostHeatFiles = 64

// Elsewhere implements plan.Delivery.
func (*heatMaps) Elsewhere() bool { return true }

// Begin creates the files, so that a file that cannot be written is an error
// before the run.
func (d *heatMaps) Begin(ctx context.Context, op plan.Running) error {
	h := op.(*plan.HeatRun)
	if d.to.cfg.Options.Show.NoFiles {
		h.Write = func(int, event.Time, event.Number) {}
		h.WriteBy = func(int, string, event.Time, event.Number) {}
		return nil
	}
	d.ctx, d.run, d.by = ctx, h, map[heatKey]*heatFile{}
	d.names, d.more = map[string]bool{}, map[string]bool{}
	if h.Spec.By.Given() {
		h.WriteBy = d.write
		for _, name := range h.Names { // the files come later, when the run is confined to where it may write
			if err := d.permit(name); err != nil {
				return err
			}
		}
		return nil
	}
	byStream := map[int]*heatFile{}
	for stream, name := range h.Names {
		f, err := d.create(name)
		if err != nil {
			return err
		}
		byStream[stream] = f
	}
	h.Write = func(stream int, at event.Time, value event.Number) { byStream[stream].Add(at, value) }
	return nil
}

// create makes the files of a title.
func (d *heatMaps) create(title string) (*heatFile, error) {
	f := &heatFile{title: title, run: d.run}
	path := d.run.Spec.Prefix + "-" + title
	f.lat, f.svg = picture.HeatFiles(path)
	err := d.permit(title)
	if err != nil {
		return nil, err
	}
	if f.Heat, err = picture.NewHeat(d.ctx, path); err != nil {
		return nil, err
	}
	d.files = append(d.files, f)
	return f, nil
}

// permit asks whether the files of a title may be written.
func (d *heatMaps) permit(title string) error {
	lat, svg := picture.HeatFiles(d.run.Spec.Prefix + "-" + title)
	for _, file := range []string{lat, svg} {
		if err := d.to.cfg.permit(writing(file, d.run.Spec.Prefix)); err != nil {
			return err
		}
	}
	return nil
}

// write adds a value to the map of its key, whose files are made when its first one comes. Keys beyond the
// bound share one.
func (d *heatMaps) write(stream int, by string, at event.Time, value event.Number) {
	k := heatKey{stream, by}
	f, known := d.by[k]
	if !known && len(d.by) >= mostHeatFiles {
		if len(d.more) < 1<<16 {
			d.more[by] = true
		}
		k.by = ""
		f, known = d.by[k]
	}
	if !known {
		var err error
		if f, err = d.create(d.title(k)); err != nil && d.err == nil {
			d.err = err
		}
		d.by[k] = f
	}
	if f != nil {
		f.Add(at, value)
	}
}

// title returns a unique name for a file.
func (d *heatMaps) title(k heatKey) string {
	text := "others"
	if len(d.by) < mostHeatFiles {
		text = strings.Map(func(r rune) rune {
			if r == '/' || unicode.IsControl(r) || unicode.IsSpace(r) {
				return '_'
			}
			return r
		}, k.by)
		text = text[:min(len(text), 100)]
	}
	title := d.run.Names[k.stream] + "-" + text
	for n := 2; d.names[title]; n++ {
		title = fmt.Sprintf("%s-%s-%d", d.run.Names[k.stream], text, n)
	}
	d.names[title] = true
	return title
}

// Tick shows the maps so far where that is possible.
func (d *heatMaps) Tick(t *plan.Interval) error {
	if d.err != nil {
		return d.err
	}
	for _, f := range d.files {
		m := f.Map()
		begin, end := m.Begin, m.End
		m.Meta = t.Meta("heatmap-"+f.title, "", event.Loss{})
		m.Begin, m.End = begin, end
		f.about(m, t.Loss)
		if err := d.to.out.Show(m); err != nil {
			return err
		}
	}
	return nil
}

// about describes the contents of a map, and its losses.
func (f *heatFile) about(m *result.Heatmap, loss event.Loss) {
	m.Title, m.Loss = f.title, loss
	m.Value, m.Unit = f.run.Spec.Value.Text, f.run.Unit
}

// Close writes the pictures.
func (d *heatMaps) Close() error {
	var errs []error
	slices.SortFunc(d.files, func(a, b *heatFile) int { return strings.Compare(a.svg, b.svg) })
	for _, f := range d.files {
		d.to.cfg.stage("write " + f.svg)
		errs = append(errs, f.Close(func(m *result.Heatmap) {
			m.Final = true
			f.about(m, d.to.account.total)
		}))
		d.to.msgs.note("wrote %s, and %s for trace2heatmap.pl --unitstime=ns --unitslatency=ns", f.svg, f.lat)
	}
	if n := len(d.more); n > 0 {
		d.to.msgs.note("%d more values of by have one heat map for all: %d have their own", n, mostHeatFiles)
	}
	return errors.Join(errs...)
}
