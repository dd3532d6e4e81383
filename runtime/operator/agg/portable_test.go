package agg

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/operator/flow"
)

// byKey orders rows as a Union does.
func byKey(rows [][]event.Value, keys int) [][]event.Value {
	slices.SortStableFunc(rows, func(a, b []event.Value) int {
		return slices.CompareFunc(a[:keys], b[:keys], event.Value.Compare)
	})
	return rows
}

// TestUnionOfMachinesEqualsTheWhole checks that events of several machines, put together in any
// order and any grouping, have the rows that one machine has which sees all of them.
func TestUnionOfMachinesEqualsTheWhole(t *testing.T) {
	val, id := Arg{Fn: fn(t, "val")}, Arg{Fn: fn(t, "id")}
	number := event.Type{Kind: event.TypeInt}
	for name, spec := range map[string]Spec{
		"numbers": {Keys: []*flow.Fn{fn(t, "id")}, Args: []Arg{val},
			Aggs: []Agg{{Op: Count}, {Op: Sum}, {Op: Min}, {Op: Max}, {Op: Avg}}},
		"texts": {Keys: []*flow.Fn{fn(t, "name"), fn(t, "id")}, Args: []Arg{val, id},
			Aggs: []Agg{{Op: Quantile, Q: 0.99}, {Op: Distinct, Arg: 1}, {Op: Count},
				{Op: Quantile, Q: 0.5, Arg: 1}}},
		"whole": {Args: []Arg{val, id},
			Aggs: []Agg{{Op: Top, N: 5, Arg: 1, Type: number}, {Op: Quantile, Q: 0.9, Type: number},
				{Op: Count}}},
	} {
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 1))
			evs := batch(1 + r.IntN(3000))
			whole := New(spec)
			whole.Events(slices.Clone(evs))
			var machines []*Union
			for len(evs) > 0 {
				n := min(len(evs), 1+r.IntN(500))
				g := New(spec)
				g.Events(slices.Clone(evs[:n]))
				evs = evs[n:]
				u := NewUnion(spec.Aggs, len(spec.Args), 0)
				add(t, u, g.Parts)
				machines = append(machines, u)
			}
			for len(machines) > 1 { // a tree of any shape
				i, j := r.IntN(len(machines)), r.IntN(len(machines))
				if i == j {
					continue
				}
				add(t, machines[i], machines[j].Parts)
				machines = slices.Delete(machines, j, j+1)
			}
			want := byKey(whole.Rows(), len(spec.Keys))
			if name == "whole" { // of equal counts the smaller value is first, wherever it came from
				list := slices.Clone(ordered(&spec.Aggs[0], whole.state(0, 0)).Cell().List())
				want[0][0] = event.ListOf(list...)
			}
			if got := show(machines[0].Rows(len(spec.Keys))); got != show(want) {
				t.Fatalf("%s, seed %d: got %.300s\nwant %.300s", name, seed, got, show(want))
			}
		}
	}
}

func add(t *testing.T, u *Union, parts func(func(*Row) bool)) {
	t.Helper()
	for row := range parts {
		if err := u.Add(row); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnionOfHistogramsAndDeviations(t *testing.T) {
	for _, a := range []Agg{{Op: Hist}, {Op: LHist, Lo: 0, Hi: 100, Step: 10}} {
		spec := Spec{Keys: []*flow.Fn{fn(t, "name")}, Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{a}}
		whole, u := New(spec), NewUnion(spec.Aggs, 1, 0)
		for range 3 {
			g := New(spec)
			g.Events(batch(700))
			whole.Events(batch(700))
			add(t, u, g.Parts)
		}
		rows, other := u.Histograms(1)
		want := whole.Histograms(0)
		if len(rows) != len(want) || len(other.Buckets) > 0 {
			t.Fatalf("%s: got %d rows, want %d", a.Op.Name, len(rows), len(want))
		}
		for i := range rows {
			if !slices.Equal(rows[i].Buckets, want[i].Buckets) || rows[i].Sum != want[i].Sum {
				t.Errorf("%s: got %v, want %v", a.Op.Name, rows[i], want[i])
			}
		}
	}
	spec := Spec{Args: []Arg{{Fn: fn(t, "val")}}, Aggs: []Agg{{Op: StdDev}}}
	whole, u := New(spec), NewUnion(spec.Aggs, 1, 0)
	evs := batch(3000)
	whole.Events(slices.Clone(evs))
	for i := 0; i < len(evs); i += 500 {
		g := New(spec)
		g.Events(slices.Clone(evs[i : i+500]))
		add(t, u, g.Parts)
	}
	got, want := u.Rows(0)[0][0].Float(), whole.Rows()[0][0].Float()
	if d := (got - want) / want; want == 0 || d > 1e-12 || d < -1e-12 {
		t.Errorf("deviation: got %v, want %v", got, want)
	}
}

// A bound loses no event: what finds no room is in the row of the others.
func TestUnionIsBounded(t *testing.T) {
	spec := Spec{Keys: []*flow.Fn{fn(t, "id")}, Args: []Arg{{}}, Aggs: []Agg{{Op: Count}}}
	g := New(spec)
	g.Events(batch(4000))
	u := NewUnion(spec.Aggs, 1, 7)
	add(t, u, g.Parts)
	total := u.Other(1)[1].Int()
	if uint64(total) != u.Loss().Evicted || len(u.rows) != 7 {
		t.Errorf("got %d of others, %d evicted, %d rows", total, u.Loss().Evicted, len(u.rows))
	}
	for _, row := range u.Rows(1) {
		total += row[1].Int()
	}
	if total != 4000 {
		t.Errorf("got %d events, want 4000", total)
	}
}

func TestUnionRefusesWhatNoStateHas(t *testing.T) {
	aggs := []Agg{{Op: Count}, {Op: Quantile, Q: 0.5}}
	u := NewUnion(aggs, 1, 0)
	for _, c := range []Content{
		{N: 3},
		{N: 65, Values: make([]event.Number, 65)},
		{N: 1, Buckets: []BucketCount{{Bucket: 1 << 20, N: 1}}},
		{N: 2, Buckets: []BucketCount{{Bucket: 4, N: 1}}},
		{N: 1, Least: event.IntNumber(9), Greatest: event.IntNumber(1), Buckets: []BucketCount{{Bucket: 4, N: 1}}},
	} {
		row := &Row{Measures: []Measure{{N: 1}}, Contents: []Content{c}}
		if err := u.Add(row); err == nil || len(u.rows) != 0 {
			t.Errorf("%+v: got error %v and %d rows", c, err, len(u.rows))
		}
	}
	if err := u.Add(&Row{Measures: make([]Measure, 2), Contents: make([]Content, 1)}); err == nil {
		t.Error("two arguments for one: got no error")
	}
	if cmp.Or(CheckPortable([]Agg{{Op: Last}}), CheckPortable([]Agg{{Op: List}})) == nil {
		t.Error("the last value of several machines: got no error")
	}
}
