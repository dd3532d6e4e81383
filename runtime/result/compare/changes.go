package compare

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"ppscript/runtime/result/chance"
)

// A Change is a cell's values in both runs and their difference. Unknown
// numbers are NaN.
type Change struct {
	*Cell
	Before, After float64 // per second, as a share of the total, or unconverted; see How
	Relative      float64 // the change as a share of Before; infinite if Before is 0
	Low, High     float64 // the bounds of Relative in 95 of 100 cases
	Contribution  float64 // the change as a share of the whole column
	P             float64 // the probability of such a change by chance, corrected for the number of cells
	Differs       bool
}

// A Report is the result of a comparison: the changes of all cells.
type Report struct {
	Runs     [2]Run
	Units    [2]int // the number of units, such as intervals, that each run is judged by
	Sources  bool   // the units are hosts or files
	Paired   bool   // both runs have the same hosts or files, which are compared one by one
	Compared int    // number of judged cells
	Unjudged int    // number of cells that could not be judged
	Differ   int
	Changes  []Change // the cells that differ come first, then by contribution
	Wholes   []Change // the sums of columns over their rows
}

// Enough reports whether a run has enough intervals to be judged.
func (r *Report) Enough() bool { return max(r.Units[0], r.Units[1]) >= chance.Least }

// Report compares the runs and returns the changes of all cells.
func (c *Comparison) Report() *Report {
	c.leaves()
	if c.Per == PerColumn {
		c.mix()
	}
	c.lead()
	u := c.units()
	r := &Report{Runs: c.Runs, Sources: u[0].sources}
	for i := range u {
		r.Units[i] = u[i].judged()
		if !r.Runs[i].Whole {
			r.Runs[i].Seconds = u[i].total()
		}
	}
	r.Paired = r.Sources && slices.Equal(slices.Sorted(slices.Values(u[0].names)),
		slices.Sorted(slices.Values(u[1].names)))
	var judged []int // of changes
	var p []float64
	s := newSampler()
	for _, cell := range c.cells {
		change, v, possible := c.change(cell, &u, r.Paired, s)
		switch {
		case math.IsNaN(change.Before) || math.IsNaN(change.After):
			continue // the row's counts show that it is new or gone
		case math.IsNaN(v.p):
			r.Unjudged++
		case possible:
			judged, p = append(judged, len(r.Changes)), append(p, v.p)
		}
		r.Changes = append(r.Changes, change)
	}
	r.Compared = len(judged)
	for i, corrected := range chance.Holm(p, len(p)) {
		change := &r.Changes[judged[i]]
		change.P = corrected
		change.Differs = corrected <= chance.Level && math.Abs(change.Relative) >= c.Least
		if change.Differs {
			r.Differ++
		}
	}
	r.contributions()
	slices.SortStableFunc(r.Changes, func(a, b Change) int { return a.order(&b) })
	return r
}

// change compares a cell's values in both runs; the probability is not corrected yet. possible is
// false if the cell has so few events that no change of them could be distinguished from chance.
func (c *Comparison) change(cell *Cell, u *[2]units, paired bool, s *sampler) (Change, verdict, bool) {
	a, before, na, ofA := c.numbers(cell, 0, &u[0])
	b, after, nb, ofB := c.numbers(cell, 1, &u[1])
	if paired {
		a, b = byName(u[0].names, a), byName(u[1].names, b)
	}
	if c.Per == PerRun && cell.How == Rate {
		ofA, ofB = 1, 1 // both did the same work, so the length of the runs does not matter
	}
	v := unjudged()
	// The maximum of a minute cannot be compared with the maximum of a second.
	if length := u[0].typical() / u[1].typical(); cell.How != Level || length > 0.5 && length < 2 {
		v = s.judge(a, b, paired)
	}
	possible := true
	if cell.Counts && !math.IsNaN(v.p) {
		// By chance, an event happens in a run with a probability proportional
		// to the run's length.
		sources := (ofA + ofB) / ofB
		v.p = max(v.p, chance.Share(nb, na+nb, sources))
		possible = min(chance.Share(na+nb, na+nb, sources), chance.Share(0, na+nb, sources)) <= chance.Level
	}
	if of := c.counted(cell); of != nil {
		v = c.sum(cell, of, u, paired, s)
	}
	change := Change{Cell: cell, Before: before, After: after, Relative: relative(before, after),
		Low: math.NaN(), High: math.NaN(), P: math.NaN()}
	if before > 0 {
		change.Low, change.High = v.low, v.high
		change.hold()
	}
	return change, v, possible
}

// hold widens the bounds so that they include the estimate, which a few unusual intervals may have
// moved beyond the bounds. It also removes impossible values from the bounds: no number without
// negative values falls by more than 100 %, and no share grows beyond 100 %.
func (c *Change) hold() {
	if math.IsNaN(c.Low) || math.IsInf(c.Relative, 0) {
		return
	}
	c.Low, c.High = min(c.Low, c.Relative), max(c.High, c.Relative)
	for run := range c.values {
		if slices.ContainsFunc(c.values[run], func(v float64) bool { return v < 0 }) {
			return
		}
	}
	if c.Low = max(c.Low, -1); c.How == Share {
		c.High = max(c.Relative, min(c.High, 1/c.Before-1))
	}
}

// counted returns the cell that counts the events which a sum adds up: the first count of its row.
// It is nil for cells that are no sums, and if sums are compared as rates.
func (c *Comparison) counted(cell *Cell) *Cell {
	if c.Per != PerRun || cell.How != Rate {
		return nil
	}
	of := c.leading[cellName{cell.Result, cell.Row, ""}]
	if of == cell {
		return nil
	}
	return of
}

// lead finds the first count of each row.
func (c *Comparison) lead() {
	c.leading = map[cellName]*Cell{}
	for _, cell := range c.cells {
		name := cellName{cell.Result, cell.Row, ""}
		if cell.How == Rate && cell.Counts && c.leading[name] == nil {
			c.leading[name] = cell
		}
	}
}

// sum judges the sum of a run by its two factors: the number of events, and the mean of an event.
// The variation of the sum between intervals is not used, since it is no noise of the whole run's
// sum: a run that does the same work later has the same sum.
func (c *Comparison) sum(cell, of *Cell, u *[2]units, paired bool, s *sampler) verdict {
	var each [2][]float64
	var whole, n [2]float64
	for run := range each {
		sums, all, _, _ := c.numbers(cell, run, &u[run])
		counts, events, _, _ := c.numbers(of, run, &u[run])
		each[run] = make([]float64, len(sums))
		for i, v := range sums {
			each[run][i] = v / counts[i]
			if math.IsInf(each[run][i], 0) {
				each[run][i] = math.NaN()
			}
		}
		if paired {
			each[run] = byName(u[run].names, each[run])
		}
		whole[run], n[run] = all, events
	}
	v := s.judge(each[0], each[1], paired)
	more := relative(n[0], n[1])
	if math.Abs(more) < c.Least {
		return v
	}
	_, events, _ := c.change(of, u, paired, s)
	grew := whole[1] > whole[0]
	byEach := grew == (ratio(whole[1], n[1]) > ratio(whole[0], n[0]))
	byEvents := grew == (n[1] > n[0])
	switch {
	case math.IsNaN(v.p) || byEvents && (!byEach || events.p < v.p):
		v = events
	case byEach: // the number of events changed less significantly, or in the other direction
		v.low, v.high = (1+v.low)*(1+more)-1, (1+v.high)*(1+more)-1
	}
	v.p = min(1, 2*v.p)
	return v
}

func relative(before, after float64) float64 {
	switch {
	case before == after:
		return 0
	case before == 0:
		return math.Inf(1)
	}
	return (after - before) / math.Abs(before)
}

// mix converts rates to shares of their column's sum in each interval.
func (c *Comparison) mix() {
	for _, cell := range c.cells {
		if cell.How != Rate {
			continue
		}
		cell.How = Share
		cell.of = cell.Result + "\x00" + cell.Column
		for run := range cell.values {
			for part, v := range cell.values[run] {
				c.AddAll(cell.of, run, part, orZero(v))
			}
		}
	}
}

// byName orders numbers by the names of their units, which are hosts or files.
func byName(names []string, list []float64) []float64 {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(names[a], names[b]) })
	out := make([]float64, len(list))
	for i, from := range order {
		out[i] = list[from]
	}
	return out
}

// order sorts changes: cells that differ come first, then larger contributions, then growth before
// decline. Within each group extremes come last, since a single event determines them.
func (c *Change) order(o *Change) int {
	// The rank is rounded: if two functions share all samples, one gains what the other loses.
	rank := func(c *Change) float64 {
		v := math.Abs(c.Contribution)
		if v == 0 || math.IsNaN(v) {
			return 0
		}
		scale := math.Pow(10, 3-math.Floor(math.Log10(v)))
		return math.Round(v*scale) / scale
	}
	first := func(yes bool) int {
		if yes {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(first(c.Differs), first(o.Differs)),
		cmp.Compare(first(!c.Extreme), first(!o.Extreme)), cmp.Compare(rank(o), rank(c)),
		cmp.Compare(first(c.Contribution > 0), first(o.Contribution > 0)))
}

type columnName struct{ result, column string }

// contributions sets each change's share of its whole column. The weight of a mean or another level
// is the share that its row has of the result's first column of rates.
func (r *Report) contributions() {
	wholes := map[columnName]*Change{}
	rows := map[columnName]int{}
	leading := map[string]string{}
	weights := map[cellName]float64{}
	var order []columnName
	for i := range r.Changes {
		c := &r.Changes[i]
		name := columnName{c.Result, c.Column}
		rows[name]++
		if c.How != Rate {
			continue
		}
		w := wholes[name]
		if w == nil {
			w = &Change{Cell: c.Cell, Low: math.NaN(), High: math.NaN(), P: math.NaN()}
			wholes[name] = w
			order = append(order, name)
			if leading[c.Result] == "" {
				leading[c.Result] = c.Column
			}
		}
		w.Before, w.After = w.Before+c.Before, w.After+c.After
		if c.Column == leading[c.Result] {
			weights[cellName{c.Result, c.Row, ""}] = c.Before + c.After
		}
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		name := columnName{c.Result, c.Column}
		switch c.How {
		case Rate:
			w := wholes[name]
			c.Contribution = part(c.After-c.Before, w.Before, w.After)
		case Share:
			c.Contribution = orZero(c.After) - orZero(c.Before)
		case Level:
			weight := 1 / float64(rows[name])
			if w := wholes[columnName{c.Result, leading[c.Result]}]; w != nil {
				weight = ratio(weights[cellName{c.Result, c.Row, ""}], w.Before+w.After)
			}
			c.Contribution = weight * part(c.After-c.Before, c.Before, c.After)
		}
		c.Contribution = orZero(c.Contribution)
	}
	for _, name := range order {
		if w := wholes[name]; rows[name] > 1 {
			w.Relative = relative(w.Before, w.After)
			r.Wholes = append(r.Wholes, *w)
		}
	}
}

// part returns a change as a share of the larger of two numbers, so that its absolute value is at
// most 1 if they are not negative.
func part(change, before, after float64) float64 {
	return ratio(change, max(math.Abs(before), math.Abs(after)))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// orZero returns v, or 0 if v is NaN.
func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
