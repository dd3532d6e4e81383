package fleet

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"ppscript/runtime/event"
	"ppscript/runtime/output/render"
	"ppscript/runtime/result"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/result/outlier"
)

// uneven is the relative difference from the median of observed time up to which a host is compared
// with others.
const uneven = 0.1

// comparable splits the hosts that reported a window: hosts observed about as long as the median
// host, others did not. Their numbers cannot be compared: counts of half the time are half as
// large, and extremes grow with time.
func (w *window) comparable() (hosts, others []string) {
	var times []int64
	for host := range w.whole {
		times = append(times, w.saw[host])
	}
	slices.Sort(times)
	for _, host := range slices.Sorted(maps.Keys(w.whole)) {
		usual := float64(times[len(times)/2])
		if slices.Contains(w.wide, host) || math.Abs(float64(w.saw[host])-usual) > uneven*usual {
			others = append(others, host)
		} else {
			hosts = append(hosts, host)
		}
	}
	return hosts, others
}

// tellOutliers prints the hosts of a window whose numbers differ from the
// others'.
func (c *collector) tellOutliers(w *window, about mergeable.About) error {
	hosts, others := w.comparable()
	o := w.Outliers(hosts)
	if c.q.JSON {
		fields := []render.NoteField{{Name: "hosts", Value: event.IntOf(int64(o.Hosts))},
			{Name: "differ", Value: event.IntOf(int64(o.Found))},
			{Name: "compared", Value: event.IntOf(int64(o.Compared))},
			{Name: "level", Value: event.FloatOf(outlier.Level)}}
		if len(others) > 0 {
			fields = append(fields, hostList("uneven", others)...)
		}
		if err := c.out.Note("outliers", fields...); err != nil {
			return err
		}
	} else if err := c.out.Show(result.TextOf(outlierLine(o, others))); err != nil {
		return err
	}
	if o.Table == nil {
		return nil
	}
	m := &o.Table.Meta
	m.Seq, m.Final, m.Wall, m.Keep = about.Seq, about.Final, about.End, about.Keep
	m.Begin, m.End = event.Time(about.Begin.UnixNano()), event.Time(about.End.UnixNano())
	o.Table.Layout.NoDate = true
	return c.out.Show(o.Table)
}

// outlierLine returns a line about which hosts were compared and how. uneven are the
// hosts that were left out because they observed for a different time.
func outlierLine(o *mergeable.Outliers, uneven []string) string {
	line := "outliers: "
	how := fmt.Sprintf("robust z, median and MAD over the other hosts; Holm's correction for %d numbers "+
		"at %g %%", o.Compared, 100*outlier.Level)
	switch {
	case o.Hosts < outlier.Least:
		line += fmt.Sprintf("%d hosts are too few to be compared; %d could be", o.Hosts, outlier.Least)
	case o.Compared == 0:
		line += fmt.Sprintf("nothing to compare %d hosts by", o.Hosts)
	case o.Found == 0:
		line += fmt.Sprintf("none of %d hosts differs (%s)", o.Hosts, how)
	default:
		line += fmt.Sprintf("%d of %d hosts differ (%s)", o.Found, o.Hosts, how)
	}
	if len(uneven) > 0 {
		line += "; not compared, since they saw another length of time: " + names(uneven)
	}
	return line + "\n"
}
