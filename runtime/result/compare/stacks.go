package compare

import (
	"slices"
	"strings"

	"ppscript/runtime/result"
)

// This file makes the cells of stacks. Each function has two: the share of samples in the function
// itself (self), and the share of samples in it or in functions that it called (total).

// The columns of functions.
const (
	self  = "self"
	total = "total"
)

// stack adds one sample of a result, with its weight. The caller adds the total of the weights by
// AddAll.
func (c *Comparison) stack(name string, run, part int, x result.StackSample, weight float64, counts bool) {
	seen := make([]string, 0, len(x.Frames)+1)
	// The frames before the separator belong to the thread that ended a wait.
	below := x.Frames[slices.IndexFunc(x.Frames, (*result.Frame).IsSeparator)+1:]
	for _, f := range below {
		if n := f.Name(); !slices.Contains(seen, n) {
			seen = append(seen, n)
		}
	}
	if len(seen) == 0 {
		seen = append(seen, "[no stack]")
	}
	like := Cell{Result: name, Column: self, How: Share, Counts: counts}
	for i, function := range seen {
		like.Row = function
		if i == 0 {
			c.Cell(&like).Add(run, part, weight)
			like.Column = total
		}
		c.Cell(&like).Add(run, part, weight)
	}
}

// leaves removes the totals of functions that called no others, since they equal the functions'
// self.
func (c *Comparison) leaves() {
	c.cells = slices.DeleteFunc(c.cells, func(cell *Cell) bool {
		if cell.How != Share || cell.Column != total {
			return false
		}
		own := c.byName[cellName{cell.Result, cell.Row, self}]
		return own != nil && slices.Equal(sums(own), sums(cell))
	})
}

func sums(c *Cell) []float64 {
	var out []float64
	for i := range c.values {
		sum := 0.0
		for _, v := range c.values[i] {
			sum += orZero(v)
		}
		out = append(out, sum)
	}
	return out
}

// Pictured returns the stacks of a run for a picture, with the name of their result; nil if there
// are none. They are kept only if Pictures is set.
func (c *Comparison) Pictured(run int) *result.Stacks {
	s := c.pictured[run]
	if s == nil || len(s.Samples) == 0 {
		return nil
	}
	s.Merge()
	return s
}

// picture keeps a sample for a picture. Only the first result with stacks is
// kept.
func (c *Comparison) picture(name string, run int, value string, keys []result.Column, x result.StackSample) {
	if !c.Pictures {
		return
	}
	s := c.pictured[run]
	if s == nil {
		s = &result.Stacks{Value: value, Keys: keys}
		s.Name = strings.Clone(name)
		c.pictured[run] = s
	}
	if s.Name != name {
		return
	}
	s.Samples = append(s.Samples, x)
	if len(s.Samples) > 1<<16 && len(s.Samples)&(len(s.Samples)-1) == 0 {
		s.Merge()
	}
}
