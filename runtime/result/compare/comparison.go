package compare

import (
	"math"
	"slices"

	"ppscript/runtime/result"
	"ppscript/runtime/result/chance"
)

// A How says how the numbers of a cell are compared.
type How uint8

// What a cell has.
const (
	Rate  How = iota // what adds up: per second
	Share            // what adds up, as a part of all samples
	Level            // means, quantiles, extremes: as they are
)

// A Cell is a number that both runs may have, of each of their parts.
type Cell struct {
	Result, Row, Column string
	Unit                string // of the numbers, "ns"; "" for plain ones
	How                 How
	Counts              bool // it counts events
	Extreme             bool // of a Level: the least or the greatest of something

	of     string       // what the name of all is that it is a share of
	values [2][]float64 // by part, NaN is nothing
	whole  [2]float64   // of the whole run, where that is known better than by its parts; NaN if not
}

// Again is a comparison of the same before with another after.
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

// Only is the comparison without other results.
func (c *Comparison) Only(result string) *Comparison {
	c.cells = slices.DeleteFunc(c.cells, func(cell *Cell) bool { return cell.Result != result })
	return c
}

// A Part is an interval of a run.
type Part struct {
	Source  string  // the file, and of parts the host
	At      int64   // parts of several hosts with the same At are of one interval
	Seconds float64 // its length
}

// A Run is one of the two.
type Run struct {
	Name    string // as the user named it
	Parts   []Part
	Missing uint64 // events that are known to be missing
	Whole   bool   // Seconds is the length of the run; else that of its parts
	Seconds float64
}

// A Per says by what sums are divided before they are compared.
type Per uint8

// What that can be.
const (
	PerSecond Per = iota // rates
	PerRun               // nothing: both did the same work
	PerColumn            // the sum of the column, in the same interval: the mix, whatever the load
)

// Pers are the words for them.
var Pers = [...]string{PerSecond: "second", PerRun: "run", PerColumn: "share"}

// A Comparison is of two runs.
type Comparison struct {
	Runs [2]Run
	// Least is the smallest change of a value that counts, as a share of it.
	Least float64
	// Per says what sums are compared by.
	Per Per
	// Pictures asks to keep stacks for a picture.
	Pictures bool

	pictured [2]*result.Stacks
	cells    []*Cell
	byName   map[cellName]*Cell
	leading  map[cellName]*Cell       // by result and row: the first one that counts
	all      map[string]*[2][]float64 // by result: what its shares are of, by part
	cut      map[partName]bool        // what a row lacks there was left out, and is not 0
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

// Cut says that rows of a result were left out in a part: what is not there is not known.
func (c *Comparison) Cut(result string, run, part int) { c.cut[partName{result, run, part}] = true }

// Cell is the cell like this one, which is made if it is new.
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

// Add adds what a part has in a cell. Rows of one name, such as the rows of two threads, add up; of means
// and the like nobody knows their sum, and the last one counts.
func (c *Cell) Add(run, part int, v float64) {
	own := grown(&c.values[run], part)
	if math.IsNaN(*own) || c.How == Level {
		*own = v
		return
	}
	*own += v
}

// SetWhole notes the number of a whole run.
func (c *Cell) SetWhole(run int, v float64) { c.whole[run] = v }

// AddAll adds to what the shares of a result are of.
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

// grown is the number of a part in a list that has NaN for those that it lacks.
func grown(list *[]float64, part int) *float64 {
	for len(*list) <= part {
		*list = append(*list, math.NaN())
	}
	return &(*list)[part]
}

// units are what a run is judged by: sets of its parts, with the length of each.
type units struct {
	of      []int // by part: its unit
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
		u.short = n - 1 // the run ended within it
	}
}

func median(list []float64) float64 {
	list = slices.Clone(list)
	slices.Sort(list)
	return list[len(list)/2]
}

// judged is how many units a run is judged by.
func (u *units) judged() int {
	if u.short >= 0 {
		return len(u.seconds) - 1
	}
	return len(u.seconds)
}

// typical is the length of a unit.
func (u *units) typical() float64 {
	if len(u.seconds) == 0 {
		return 0
	}
	return median(u.seconds)
}

// total is the length of the run.
func (u *units) total() (seconds float64) {
	for _, s := range u.seconds {
		seconds += s
	}
	return seconds
}

// sum puts the numbers of parts together by unit; how says what becomes of those of one unit.
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
			out[i] /= n[i] // NaN for none
		}
	}
	return out
}

// numbers are what a run has of a cell, by unit, and of all of it; n is the number of events where it
// counts them, of so many.
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
			sums[i] = v / parts[i] // NaN without any
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
		// All is in events for each run.
		whole *= all
		for i := range sums {
			sums[i] *= all
		}
	}
	return sums, whole, n, of
}

// mean returns the mean of the numbers that there are; NaN without any.
func mean(list []float64) float64 {
	sum, n := 0.0, 0.0
	for _, v := range list {
		if !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}
