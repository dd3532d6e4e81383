package agg

import (
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file adds up the margins of estimates of several machines. Errors by chance are independent
// between machines, so that their squares add up. A bias has the same direction on all machines
// (observed threads are slower), so that it adds up itself.

// A Far is the margin of an estimate, which holds in 95 of 100 cases: the square of the margin by
// chance, and the bias.
type Far struct{ Square, Bias float64 }

// A Doubt has the margins of N and Sum of a Measure; zero if they are exact.
type Doubt struct{ N, Sum Far }

// boundless is the margin of an estimate whose margin is not known: a square larger than any
// measured one, so that it can be sent as a number.
var boundless = Far{Square: math.MaxFloat64}

func (f *Far) add(o Far) {
	if *f == boundless || o == boundless {
		*f = boundless
		return
	}
	f.Square += o.Square
	f.Bias += o.Bias
}

func (f Far) margin() float64 { return math.Sqrt(f.Square) + f.Bias }

// valid reports that a Far is in the range of measured ones.
func (f Far) valid() bool {
	return f.Square >= 0 && f.Bias >= 0 && !math.IsInf(f.Square, 0) && !math.IsInf(f.Bias, 0)
}

// cell is the margin as a table shows it, for a count or a sum.
func (f Far) cell(a *Agg) event.Value {
	far := min(f.margin(), math.MaxInt64/2)
	switch {
	case far == 0, f == boundless:
		return event.Value{}
	case a.Op == Sum:
		if a.Type.Kind == event.TypeFloat {
			return event.FloatOf(far)
		}
		return a.Type.Number(int64(math.Ceil(far)))
	}
	return event.IntOf(int64(math.Ceil(far)))
}

// doubtsOf returns the margins of a row; nil if all of it is exact.
func (g *Group) doubtsOf(r int) []Doubt {
	n := len(g.spec.Args)
	if times := &g.doubts.times; times.n > 0 || len(times.force) > 0 {
		g.doubts.grow(len(g.measures))
	}
	if (r+1)*n > len(g.doubts.list) {
		return nil
	}
	list, some := make([]Doubt, n), false
	for i := range list {
		list[i] = Doubt{N: g.far(r*n+i, false), Sum: g.far(r*n+i, true)}
		some = some || list[i] != Doubt{}
	}
	if !some {
		return nil
	}
	return list
}

// validDoubts returns an error if received doubts are not possible for a row.
func validDoubts(list []Doubt, args int) error {
	if len(list) != 0 && len(list) != args {
		return errContent
	}
	for i := range list {
		if !list[i].N.valid() || !list[i].Sum.valid() {
			return errContent
		}
	}
	return nil
}

// doubt adds the doubts of another machine's row.
func (u *unionRow) doubt(list []Doubt) {
	if u.doubts == nil && len(list) > 0 {
		u.doubts = make([]Doubt, len(list))
	}
	for i := range list {
		u.doubts[i].N.add(list[i].N)
		u.doubts[i].Sum.add(list[i].Sum)
	}
}

// sampled reports that a row has an estimate whose margin is not known.
func (u *unionRow) sampled(aggs []Agg) bool {
	if u == nil || u.doubts == nil {
		return false
	}
	for i := range aggs {
		d := &u.doubts[aggs[i].Arg]
		if aggs[i].estimated() && aggs[i].far(*d) == boundless {
			return true
		}
	}
	return false
}

// unionRows gives addMargins the margins of a Union's rows.
type unionRows struct {
	aggs []Agg
	list []*unionRow
}

func (u unionRows) margin(r, i int) event.Value { return u.list[r].margin(&u.aggs[i]) }
func (u unionRows) sampled(r int) bool          { return u.list[r].sampled(u.aggs) }

func (u *unionRow) margin(a *Agg) event.Value {
	if u == nil || u.doubts == nil {
		return event.Value{}
	}
	return a.far(u.doubts[a.Arg]).cell(a)
}

// AddMargins adds columns to a table of the Union's rows, with the margins of counts and sums, if a
// budget left out events on some machine.
func (u *Union) AddMargins(t *result.Table, keys int) {
	rows := u.sorted()
	some := u.other != nil && u.other.doubts != nil
	for _, r := range rows {
		some = some || r.doubts != nil
	}
	if !some || len(t.Rows) != len(rows) {
		return
	}
	addMargins(t, u.aggs, keys, unionRows{u.aggs, rows}, unionRows{u.aggs, []*unionRow{u.other}})
}
