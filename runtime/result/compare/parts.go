package compare

import (
	"errors"
	"io"
	"slices"

	"ppscript/runtime/result"
	"ppscript/runtime/result/mergeable"
	"ppscript/runtime/text/unit"
)

// This file reads the output of --partials: the states of aggregators, which can be merged exactly.
// So means and quantiles of a whole run are known, not only of its intervals.

// Parts adds the windows of a run as parts. Each host is a source; windows of several hosts with
// the same begin are the same interval.
func (c *Comparison) Parts(run int, from io.Reader) error {
	type window struct {
		host       string
		begin, end int64
	}
	frames := mergeable.NewReader(from)
	merger := mergeable.NewMerger(nil)
	windows := map[window]*mergeable.Window{}
	var order []window
	whole := merger.NewWindow()
	for {
		f, err := frames.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		key := window{f.Host, f.Begin, f.End}
		w := windows[key]
		if w == nil {
			w = merger.NewWindow()
			windows[key] = w
			order = append(order, key)
		}
		if err := errors.Join(w.Add(f), whole.Add(f)); err != nil {
			return err
		}
	}
	if len(order) == 0 {
		return errNothing
	}
	known := len(c.Runs[run].Parts)
	for i, key := range order {
		w := windows[key]
		if key.begin >= key.end {
			continue // the rest of the window before, sent separately
		}
		if edge(order, i, func(a, b window) bool { return a.host == b.host }) {
			continue
		}
		part := c.Part(run, Part{Source: key.host, At: key.begin,
			Seconds: max(float64(key.end-key.begin), 1) / unit.S.Scale})
		w.Numbers(func(n *mergeable.Number) { c.cellOf(n).Add(run, part, n.Value) })
		w.Stacks(func(name string, s *result.Stacks) { c.sampled(name, run, part, s) })
		c.Runs[run].Missing += w.Loss().Missing()
	}
	if len(c.Runs[run].Parts) == known {
		return errLength
	}
	whole.Numbers(func(n *mergeable.Number) {
		if !n.Adds {
			c.cellOf(n).SetWhole(run, n.Value)
		}
	})
	return nil
}

// errLength is the reason if no part has a length.
var errLength = errors.New("its parts have no length: run with -i, such as -i 1s")

// edge reports whether a window is the first or the last one of a host that has at least three. The
// run began and ended within these windows, so they are shorter than their bounds.
func edge[T any](order []T, i int, same func(a, b T) bool) bool {
	const least = 3
	n, before := 0, 0
	for j := range order {
		if same(order[i], order[j]) {
			if n++; j < i {
				before++
			}
		}
	}
	return n >= least && (before == 0 || before == n-1)
}

func (c *Comparison) cellOf(n *mergeable.Number) *Cell {
	like := Cell{Result: n.Result, Row: n.Row, Column: n.Column, Unit: n.Unit, Counts: n.Counts, How: Level,
		Extreme: n.Extreme}
	if n.Adds {
		like.How = Rate
	}
	return c.Cell(&like)
}

// sampled adds the stacks of an interval.
func (c *Comparison) sampled(name string, run, part int, s *result.Stacks) {
	count, value := s.Total()
	all := float64(count)
	if s.Value != "" {
		all = float64(value)
	}
	c.AddAll(name, run, part, all)
	for i := range s.Samples {
		x := s.Samples[i]
		c.stack(name, run, part, x, float64(s.Weight(&x)), s.Value == "")
		x.Key = slices.Clone(x.Key)
		c.picture(name, run, s.Value, s.Keys, x)
	}
}
