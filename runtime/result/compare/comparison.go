package compare

import (
	"math"
	"slices"

	"ppscript/runtime/result"
	"ppscript/runtime/result/chance"
)

// A How says how the numbers of a cell are compared.
type How uint8

// How the numbers of a cell are compared.
const (
	Rate  How = iota // numbers that add up, such as counts: per second
	Share            // numbers that add up, as a share of all samples
	Level            // means, quantiles and extremes: unconverted
)

// A Cell is a number of a result, with its values in each part of both runs.
type Cell struct {
	Result, Row, Column string
	Unit                string // of the values, such as "ns"; "" for plain numbers
	How                 How
	Counts              bool // it counts events
	Extreme             bool // a Level that is a minimum or maximum

	of     string       // of a Share: the key in Comparison.all of its totals
	values [2][]float64 // by part; NaN if the part lacks it
	whole  [2]float64   // the exact value of the whole run; NaN if only the values of parts are known
}

// Again returns a new comparison with the same first run and another second
// run.
func (c *Comparison) Again(after string) *Comparison {
	own := New(c.Runs[0].Name, after)
	own.Runs[0], own.Least, own.Per = c.Runs[0], c.Least, c.Per
	for _, cell := range c.cells {
		same := own.Cell(cell)
		same.values[0], same.whole[0] = slices.Clone(cell.values[0]), cell.whole[0]
	}
	for name, all := range c.all {
		own.all[name] = &[2][]float64{slices.Clone(all[0])}
	}
	for name := range c.cut {
		if name.run == 0 {
			own.cut[name] = true
		}
	}
	return own
}

// Only removes all other results from the comparison and returns it.
func (c *Comparison) Only(result string) *Comparison {
	c.cells = slices.DeleteFunc(c.cells, func(cell *Cell) bool { return cell.Result != result })
	return c
}

// A Part is an interval of a run.
type Part struct {
	Source  string  // the file, or the host if it was read from --partials
	At      int64   // parts of several hosts with the same At belong to the same interval
	Seconds float64 // its length
}

// A Run is one of the two runs that are compared.
type Run struct {
	Name    string // as the user named it
	Parts   []Part
	Missing uint64 // events that are known to be missing
	Whole   bool   // the caller has set Seconds to the length of the run; else it is the sum of its parts
	Seconds float64
}

// A Per says by which number counts and sums are divided before they are
// compared.
type Per uint8

// The divisors of counts and sums.
const (
	PerSecond Per = iota // rates
	PerRun               // undivided: both runs did the same work
	PerColumn            // the sum of the column in the same interval: compares the mix, not the load
)

// Pers are the words of option --per.
var Pers = [...]string{PerSecond: "second", PerRun: "run", PerColumn: "share"}

// A Comparison collects the numbers of two runs and compares them.
type Comparison struct {
	Runs [2]Run
	// Least is the smallest change that is reported as a difference, as a share
	// of the value.
	Least float64
	// Per says by which number counts and sums are divided.
	Per Per
	// Pictures asks to keep the stacks for a flame graph or another picture.
	Pictures bool

	pictured [2]*result.Stacks
	cells    []*Cell
	byName   map[cellName]*Cell
	leading  map[cellName]*Cell       // by result and row: the row's first cell that counts events
	all      map[string]*[2][]float64 // by result: the totals of its shares, by part
	cut      map[partName]bool        // in these parts, rows that are missing were left out, and are not 0
}

type cellName struct{ result, row, column string }

type partName struct {
	result    string
	run, part int
}

// New makes a comparison of two runs.
func New(before, after string) *Comparison {
	return &Comparison{Runs: [2]Run{{Name: before}, {Name: after}}, Least: 0.01,
		byName: map[cellName]*Cell{}, all: map[string]*[2][]float64{}, cut: map[partName]bool{}}
}

// Part adds an interval to a run and returns its number.
func (c *Comparison) Part(run int, p Part) int {
	r := &c.Runs[run]
	r.Parts = append(r.Parts, p)
	return len(r.Parts) - 1
}

// Cut notes that rows of a result were left out in a part: the values of missing rows are
// unknown, not 0.
func (c *Comparison) Cut(result string, run, part int) { c.cut[partName{result, run, part}] = true }

// Cell returns the cell with the same result, row and column, and makes it if
// it is new.
func (c *Comparison) Cell(like *Cell) *Cell {
	name := cellName{like.Result, like.Row, like.Column}
	own := c.byName[name]
	if own == nil {
		own = &Cell{Result: like.Result, Row: like.Row, Column: like.Column, Unit: like.Unit, How: like.How,
			Counts: like.Counts, Extreme: like.Extreme, of: like.Result,
			whole: [2]float64{math.NaN(), math.NaN()}}
		c.byName[name] = own
		c.cells = append(c.cells, own)
	}
	return own
}

// Add adds the number of a part. Rows of the same name, such as the rows of two threads, are added
// up; of levels, which cannot be added, the last one stays.
func (c *Cell) Add(run, part int, v float64) {
	own := grown(&c.values[run], part)
	if math.IsNaN(*own) || c.How == Level {
		*own = v
		return
	}
	*own += v
}

// SetWhole sets the exact value of a whole run.
func (c *Cell) SetWhole(run int, v float64) { c.whole[run] = v }

// AddAll adds v to the total of a result in a part, by which its shares are
// divided.
func (c *Comparison) AddAll(result string, run, part int, v float64) {
	all := c.all[result]
	if all == nil {
		all = new([2][]float64)
		c.all[result] = all
	}
	own := grown(&all[run], part)
	if math.IsNaN(*own) {
		*own = 0
	}
	*own += v
}

// grown returns a pointer to the number of a part. It extends the list with NaN
// up to that part.
func grown(list *[]float64, part int) *float64 {
	for len(*list) <= part {
		*list = append(*list, math.NaN())
	}
	return &(*list)[part]
}

// units are the groups of parts that a run is judged by: one number per unit
// enters the tests. A unit is an interval, a host or a file.
type units struct {
	of      []int // by part: the number of its unit
	names   []string
	seconds []float64
	sources bool // a unit is a host, or a file
	short   int  // the number of the last unit if it is much shorter than the others, else -1
}

// units groups parts: by source if both runs have enough of these, else by interval.
func (c *Comparison) units() (u [2]units) {
	var sources [2][]string
	for i := range c.Runs {
		for _, p := range c.Runs[i].Parts {
			sources[i] = append(sources[i], p.Source)
		}
		slices.Sort(sources[i])
		sources[i] = slices.Compact(sources[i])
	}
	bySource := min(len(sources[0]), len(sources[1])) >= chance.Least
	for i := range u {
		u[i].group(c.Runs[i].Parts, bySource)
	}
	return u
}

type unitKey struct {
	source string
	at     int64
}

func (u *units) group(parts []Part, bySource bool) {
	u.sources, u.short = bySource, -1
	known := map[unitKey]int{}
	for _, p := range parts {
		key := unitKey{at: p.At}
		if bySource {
			key = unitKey{source: p.Source}
		}
		n, ok := known[key]
		if !ok {
			n = len(u.seconds)
			known[key] = n
			u.seconds = append(u.seconds, 0)
			u.names = append(u.names, key.source)
		}
		if u.of = append(u.of, n); bySource {
			u.seconds[n] += p.Seconds
		} else {
			u.seconds[n] = max(u.seconds[n], p.Seconds)
		}
	}
	if n := len(u.seconds); !bySource && n > 1 && u.seconds[n-1] < 0.7*median(u.seconds[:n-1]) {
		u.short = n - 1 // the run ended during it
	}
}

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// judged returns the number of units that a run is judged by.
func (u *units) judged() int {
	if u.short >= 0 {
		return len(u.seconds) - 1
	}
	return len(u.seconds)
}

// typical returns the median length of a unit in seconds.
func (u *units) typical() float64 {
	if len(u.seconds) == 0 {
		return 0
	}
	return median(u.seconds)
}

// total returns the length of the run.
func (u *units) total() (seconds float64) {
	for _, s := range u.seconds {
		seconds += s
	}
	return seconds
}

// sum combines the numbers of the parts in each unit: their mean for levels, else their sum.
func (u *units) sum(values []float64, how How) []float64 {
	out, n := make([]float64, len(u.seconds)), make([]float64, len(u.seconds))
	for part, unit := range u.of {
		if part < len(values) && !math.IsNaN(values[part]) {
			out[unit] += values[part]
			n[unit]++
		}
	}
	if how == Level {
		for i := range out {
			out[i] /= n[i] // NaN if it has no number
		}
	}
	return out
}

// numbers returns a cell's values in a run: by unit, and for the whole run. n is the sum of the
// values, and of is the sum of what they are divided by: seconds or totals.
func (c *Comparison) numbers(cell *Cell, run int, u *units) (list []float64, whole, n, of float64) {
	sums := u.sum(cell.values[run], cell.How)
	all := u.total()
	for part, unit := range u.of {
		if (part >= len(cell.values[run]) || math.IsNaN(cell.values[run][part])) &&
			c.cut[partName{cell.Result, run, part}] {
			sums[unit] = math.NaN()
		}
	}
	switch cell.How {
	case Rate, Share:
		parts := u.seconds
		if cell.How == Share {
			parts = u.sum(c.all[cell.of][run], Rate)
		}
		for i, v := range sums {
			if !math.IsNaN(v) {
				n, of = n+v, of+parts[i]
			}
			sums[i] = v / parts[i] // NaN if both are 0
		}
		whole = n / of
	case Level:
		whole = mean(sums)
	}
	if !math.IsNaN(cell.whole[run]) {
		whole = cell.whole[run]
	}
	if u.short >= 0 {
		sums = slices.Delete(sums, u.short, u.short+1)
	}
	if cell.How == Rate && c.Per == PerRun {
		// Rates become sums for the length of the whole run.
		whole *= all
		for i := range sums {
			sums[i] *= all
		}
	}
	return sums, whole, n, of
}

// mean returns the mean of the numbers that are not NaN; NaN if there are none.
func mean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}
