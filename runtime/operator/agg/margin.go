package agg

import (
	"math"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file puts estimates of several machines together. What chance left out on one machine says nothing
// about the others: the squares of how far estimates may be from the truth add up. What may be wrong in one
// direction on all of them, since observed threads are slower for it, adds up as it is.

// A Far is how far an estimate may be from the truth, at most, in 95 of 100 cases: by chance, as a square,
// and beside that.
type Far struct{ Square, Bias float64 }

// A Doubt is how far the N and the Sum of a Measure may be from the truth; nothing if they are exact.
type Doubt struct{ N, Sum Far }

// boundless is an estimate of which nobody knows how far it is from the truth: its square is one that
// nothing measured has, so that results of machines have it as a number.
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

// valid reports a Far that something measured may have.
func (f Far) valid() bool {
	return f.Square >= 0 && f.Bias >= 0 && !math.IsInf(f.Square, 0) && !math.IsInf(f.Bias, 0)
}

// cell is how a table shows it, for a count or a sum.
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

// validDoubts is an error about doubts that no row has.
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

// doubt adds the doubts of a row.
func (u *unionRow) doubt(list []Doubt) {
	if u.doubts == nil && len(list) > 0 {
		u.doubts = make([]Doubt, len(list))
	}
	for i := range list {
		u.doubts[i].N.add(list[i].N)
		u.doubts[i].Sum.add(list[i].Sum)
	}
}

// sampled reports that a row has an estimate of which no margin is known.
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

// unionRows are rows as their margins are asked for.
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

// AddMargins adds to a table of the Union's rows how far counts and sums are from the truth, if a budget
// left events out anywhere.
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
