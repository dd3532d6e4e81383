package agg

import (
	"math"
	"math/rand/v2"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// within runs an experiment so often, which returns an estimate of a number, how far it is from
// the truth, at most, and the truth; and wants that to hold in 95 of 100 cases.
func within(t *testing.T, what string, once func(r *rand.Rand) (got, margin, want float64)) {
	t.Helper()
	const runs = 200
	held, sum, all := 0, 0.0, 0.0
	for seed := range uint64(runs) {
		got, margin, want := once(rand.New(rand.NewPCG(seed, 7)))
		if math.Abs(got-want) <= margin {
			held++
		}
		sum, all = sum+got, all+want
	}
	if held < 92*runs/100 {
		t.Errorf("%s: %d of %d estimates are within their margins, want 95 of 100", what, held, runs)
	}
	if off := sum/all - 1; math.Abs(off) > 0.05 {
		t.Errorf("%s: estimates are wrong by %.1f %% on average, want 0", what, 100*off)
	}
}

// table is the only row of a group of a count, and perhaps a sum, with margins and whether it is sampled.
func (g *Group) table() []event.Value {
	columns := []result.Column{{Name: "n"}, {Name: "sum"}}
	t := &result.Table{Columns: columns[:len(g.spec.Aggs)], Rows: g.Rows()}
	g.AddMargins(t)
	return t.Rows[0]
}

// total reads a number and its margin from that of a count and a sum.
func total(g *Group, column int) (got, margin float64) {
	row := g.table()
	return row[column].Float(), row[column+2].Float()
}

func counts(t *testing.T) *Group {
	return New(Spec{Args: []Arg{{}, {Fn: fn(t, "val")}}, Aggs: []Agg{{Op: Count}, {Op: Sum, Arg: 1}}})
}

// byChance is a run in which events counted by chance, and what is true.
func byChance(t *testing.T, r *rand.Rand, column int) (g *Group, want float64) {
	g = counts(t)
	for range 20 {
		w := uint64(1) << r.IntN(7)
		p := &Partial{Measures: make([]Measure, 2), Spreads: make([]Spread, 2)}
		for range 2000 {
			v := int64(1000 + r.ExpFloat64()*1e5)
			want += []float64{1, float64(v)}[column]
			if r.Uint64N(w) != 0 {
				continue
			}
			p.Hits++
			for i := range p.Measures {
				p.Measures[i].N += w
				p.Spreads[i].N += float64(w * (w - 1))
			}
			sum := p.Measures[1].Sum()
			sum.Add(TotalOf(event.IntNumber(int64(w) * v)))
			p.Measures[1].setSum(sum)
			p.Spreads[1].Sum += float64(w*(w-1)) * float64(v) * float64(v)
		}
		g.AddPartial(p)
	}
	return g, want
}

// Events that count by chance, with weights that change, and values of all sizes.
func TestEstimatesOfEvents(t *testing.T) {
	for column, name := range []string{"count", "sum"} {
		within(t, name, func(r *rand.Rand) (got, margin, want float64) {
			g, want := byChance(t, r, column)
			got, margin = total(g, column)
			return got, margin, want
		})
	}
}

// bySlots is a run in which events counted in slots of time, and what is true.
func bySlots(t *testing.T, r *rand.Rand, column int) (g *Group, want float64) {
	g = counts(t)
	shift := 2 * math.Pi * r.Float64()
	for i := range 12 {
		cycle := 100 + r.IntN(100)
		at := r.IntN(cycle)
		p := &Partial{Measures: make([]Measure, 2), Spreads: make([]Spread, 2)}
		for ms := range cycle {
			rate := 100 * (1.5 + math.Sin(shift+float64(i)/2))
			n := int64(rate + 10*r.NormFloat64())
			want += []float64{float64(n), 7 * float64(n)}[column]
			if d := (ms - at + cycle) % cycle; d < 5 {
				p.Hits += uint64(n)
				p.Measures[0].N += uint64(n)
				p.Measures[1].N += uint64(n)
				sum := p.Measures[1].Sum()
				sum.Add(TotalOf(event.IntNumber(7 * n)))
				p.Measures[1].setSum(sum)
			}
		}
		p.Scale(Slot{Factor: float64(cycle) / 5})
		g.AddPartial(p)
		g.EndSlot(float64(cycle)/1e3, float64(cycle)/1e3)
	}
	return g, want
}

// Events of slots of time, at moments that chance chose, of a load that goes up and down.
func TestEstimatesOfSlots(t *testing.T) {
	for column, name := range []string{"count", "sum"} {
		within(t, name, func(r *rand.Rand) (got, margin, want float64) {
			g, want := bySlots(t, r, column)
			got, margin = total(g, column)
			return got, margin, want
		})
	}
}

// Machines that left events out by chance, in slots of time, or not at all, put together in any shape.
func TestEstimatesOfMachines(t *testing.T) {
	for column, name := range []string{"count", "sum"} {
		within(t, name, func(r *rand.Rand) (got, margin, want float64) {
			unions := [2]*Union{}
			for i := range unions {
				unions[i] = NewUnion(counts(t).spec.Aggs, 2, 0)
			}
			add := func(u *Union, parts func(func(*Row) bool)) {
				for row := range parts {
					if err := u.Add(row); err != nil {
						t.Fatal(err)
					}
				}
			}
			for i := range 6 {
				run := byChance
				if i%3 == 2 {
					run = bySlots
				}
				g, truth := run(t, r, column)
				add(unions[i%2], g.Parts)
				want += truth
			}
			add(unions[0], unions[1].Parts)
			out := &result.Table{Columns: []result.Column{{Name: "n"}, {Name: "sum"}},
				Rows: unions[0].Rows(0)}
			unions[0].AddMargins(out, 0)
			return out.Rows[0][column].Float(), out.Rows[0][column+2].Float(), want
		})
	}
}

// What is exact has no margin, and one slot says nothing about another.
func TestMargins(t *testing.T) {
	g := counts(t)
	table := func() *result.Table {
		out := &result.Table{Columns: []result.Column{{Name: "n"}, {Name: "sum"}}, Rows: g.Rows()}
		g.AddMargins(out)
		return out
	}
	if got := len(table().Columns); got != 2 {
		t.Errorf("without weights: got %d columns, want 2", got)
	}
	one := ints(3, 30, 10, 10)
	g.AddPartial(&Partial{Hits: 3, Measures: []Measure{one, one}, Spreads: make([]Spread, 2)})
	if got := table(); len(got.Columns) != 5 || got.Rows[0][2].Numeric() || got.Columns[2].Margin != "n" ||
		!got.Columns[4].Sampled || got.Rows[0][4].Kind != event.None {
		t.Errorf("exact: got %v, want empty margins, and that nothing is sampled", got.Rows)
	}
	for i := range leastSlots {
		p := &Partial{Hits: 3, Measures: []Measure{one, one}, Spreads: make([]Spread, 2)}
		p.Scale(Slot{Factor: 10, Traced: 0.5})
		g.AddPartial(p)
		g.EndSlot(1, 1)
		// Half of each slot, or three quarters of it, as the cost is known within CostFactor, went into
		// observing: there were 30 to 120 in each, and 3.
		n := int64(i + 1)
		switch got := table().Rows[0]; {
		case got[0].Int() != 3+75*n || got[4].Numeric() == (n == leastSlots):
			t.Errorf("%d slots: got %v, want %d, and that too few are sampled", n, got, 3+75*n)
		case n < leastSlots && got[2].Kind != event.None:
			t.Errorf("%d slots: got %v, want no margin", n, got)
		case n == leastSlots && got[2].Int() < 45*n:
			t.Errorf("%d slots: got %v, want 45 at least for each", n, got)
		}
	}
	g.Reset()
	if got := len(table().Columns); got != 2 {
		t.Errorf("after a reset: got %d columns, want 2", got)
	}
}

// Where all that a table counts was left out, its 0 is an estimate without a bound, and says so.
func TestMarginsOfNothing(t *testing.T) {
	for _, left := range []bool{false, true} {
		g := New(Spec{Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}})
		if left {
			g.Weighed(Force{Weight: 64, Hits: 100, Keys: true})
		}
		out := &result.Table{Columns: []result.Column{{Name: "n"}}, Rows: g.Rows()}
		g.AddMargins(out)
		row := out.Rows[0]
		if sampled := len(row) == 3 && row[2].Kind != event.None; sampled != left || row[0].Int() != 0 {
			t.Errorf("left out: %t: got %v", left, row)
		}
	}
}
