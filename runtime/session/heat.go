package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"ppscript/runtime/event"
	"ppscript/runtime/output/picture"
	"ppscript/runtime/plan"
	"ppscript/runtime/result"
)

// heatFile is the files of one kind of event.
type heatFile struct {
	*picture.Heat
	lat, svg string
	title    string
	run      *plan.HeatRun
}

// heatMaps is the delivery of a heat map: files for each kind of event.
type heatMaps struct {
	plan.NoDelivery
	to    *results
	files []*heatFile
}

// Elsewhere implements plan.Delivery.
func (*heatMaps) Elsewhere() bool { return true }

// Begin creates the files: that one cannot be written is better known before
// than after.
func (d *heatMaps) Begin(ctx context.Context, op plan.Running) error {
	h := op.(*plan.HeatRun)
	if d.to.cfg.Options.Show.NoFiles {
		h.Write = func(int, event.Time, event.Number) {}
		return nil
	}
	byStream := map[int]*heatFile{}
	for stream, name := range h.Names {
		f := &heatFile{title: name, run: h}
		path := h.Spec.Prefix + "-" + name
		f.lat, f.svg = picture.HeatFiles(path)
		for _, file := range []string{f.lat, f.svg} {
			if err := d.to.cfg.permit(writing(file, h.Spec.Prefix)); err != nil {
				return err
			}
		}
		var err error
		if f.Heat, err = picture.NewHeat(ctx, path); err != nil {
			return err
		}
		byStream[stream] = f
		d.files = append(d.files, f)
	}
	h.Write = func(stream int, at event.Time, value event.Number) { byStream[stream].Add(at, value) }
	return nil
}

// Tick shows the maps so far where that is possible.
func (d *heatMaps) Tick(t *plan.Interval) error {
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

// about says what a map is of, and what it lacks.
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
	return errors.Join(errs...)
}
