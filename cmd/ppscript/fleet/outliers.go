package fleet

import (
	"fmt"
	"maps"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/outlier"
	"ppscript/runtime/partial"
	"ppscript/runtime/render"
)

// tellOutliers names the hosts of a window that differ from the others. Those that told of a longer time
// than it has are not compared.
func (c *collector) tellOutliers(w *window, about partial.About) error {
	hosts := slices.DeleteFunc(slices.Collect(maps.Keys(w.whole)), func(host string) bool {
		return slices.Contains(w.wide, host)
	})
	o := w.Outliers(hosts)
	if c.q.JSON {
		err := c.out.Note("outliers", render.NoteField{Name: "hosts", Value: event.IntOf(int64(o.Hosts))},
			render.NoteField{Name: "differ", Value: event.IntOf(int64(o.Found))},
			render.NoteField{Name: "compared", Value: event.IntOf(int64(o.Compared))},
			render.NoteField{Name: "level", Value: event.FloatOf(outlier.Level)})
		if err != nil {
			return err
		}
	} else if err := c.out.Print([]byte(outlierLine(o))); err != nil {
		return err
	}
	if o.Table == nil {
		return nil
	}
	m := &o.Table.Meta
	m.Seq, m.Final, m.Wall, m.Keep = about.Seq, about.Final, about.End, about.Keep
	m.Begin, m.End = event.Time(about.Begin.UnixNano()), event.Time(about.End.UnixNano())
	o.Table.Layout.NoDate = true
	return c.out.Table(o.Table)
}

// outlierLine says what was compared, and how.
func outlierLine(o *partial.Outliers) string {
	switch {
	case o.Hosts < outlier.Least:
		return fmt.Sprintf("outliers: %d hosts are too few to be compared; %d could be\n", o.Hosts,
			outlier.Least)
	case o.Compared == 0:
		return fmt.Sprintf("outliers: nothing to compare %d hosts by\n", o.Hosts)
	}
	how := fmt.Sprintf("robust z, median and MAD over hosts; Holm's correction for %d numbers at %g %%",
		o.Compared, 100*outlier.Level)
	if o.Found == 0 {
		return fmt.Sprintf("outliers: none of %d hosts differs (%s)\n", o.Hosts, how)
	}
	return fmt.Sprintf("outliers: %d of %d hosts differ (%s)\n", o.Found, o.Hosts, how)
}
