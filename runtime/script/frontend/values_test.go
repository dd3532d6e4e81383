package frontend

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/expr"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/operator/flow"
	"ppscript/runtime/script"

	"go.starlark.net/starlark"
)

// This file compares what all aggregators make of random numbers of every type: in both engines, and with
// exact arithmetic.

// numbersSchema has a field of each type of number.
func numbersSchema() *event.Schema {
	field := func(name, typ string, offset, size int, signed bool) event.Field {
		return event.Field{Name: name, Type: typ, Kind: event.Int, Offset: offset, Size: size, Signed: signed}
	}
	s := &event.Schema{System: "test", Name: "numbers", Size: 24, Fields: []event.Field{
		field("s", "s64", 0, 8, true), field("u", "u64", 8, 8, false),
		field("i", "int", 16, 4, true),
		field("w", "u32", 20, 4, false), event.FieldOf("f", event.Type{Kind: event.TypeFloat}, 0),
		event.FieldOf("g", event.Type{Kind: event.TypeFloat}, 1)}}
	return s
}

var (
	integerEdges = []uint64{0, 1, math.MaxUint64, 1 << 31, 1<<31 - 1, 1<<53 + 1, 1 << 63, 1<<63 - 1,
		1<<63 + 1,
		0xffff888100000001, 1764300000000000000, 64, 63}
	floatEdges = []float64{0, 0.5, -0.5, 1e300, -1e300, 1 << 53, 0.1, -7, 1e-300, 3, 1 << 63, 249.75}
)

// numbersEvent has numbers at the ends of their ranges, often, or any.
func numbersEvent(r *rand.Rand, st *event.Stream) *event.Event {
	raw := make([]byte, 0, 24)
	integer := func() uint64 {
		if r.IntN(3) > 0 {
			return integerEdges[r.IntN(len(integerEdges))]
		}
		return r.Uint64() >> r.IntN(64)
	}
	raw = binary.LittleEndian.AppendUint64(raw, integer())
	raw = binary.LittleEndian.AppendUint64(raw, integer())
	raw = binary.LittleEndian.AppendUint64(raw, integer())
	float := func() event.Value {
		if r.IntN(3) > 0 {
			return event.FloatOf(floatEdges[r.IntN(len(floatEdges))])
		}
		return event.FloatOf(math.Ldexp(r.NormFloat64(), r.IntN(200)-100))
	}
	return &event.Event{Stream: st, Raw: raw, Derived: &event.Derived{Slots: []event.Value{float(), float()}}}
}

// numberExpr is a random expression of a number.
func numberExpr(r *rand.Rand, depth int) string {
	leaves := []string{"e.s", "e.u", "e.i", "e.w", "e.f", "e.g", "7", "-1", "2", "0", "4", "0.5",
		"9007199254740993", "2147483648", "9223372036854775808", "1e300"}
	if depth == 0 || r.IntN(4) == 0 {
		return leaves[r.IntN(len(leaves))]
	}
	x, y := numberExpr(r, depth-1), numberExpr(r, depth-1)
	switch r.IntN(10) {
	case 0:
		return "(-" + x + ")"
	case 1, 2:
		return "(" + x + " / " + y + ")"
	case 3:
		return "(" + x + " // " + y + ")"
	case 4:
		return "(" + x + " % " + y + ")"
	case 5:
		return "(" + x + " if " + numberExpr(r, depth-1) + " < " + y + " else " + numberExpr(r, depth-1) + ")"
	}
	return "(" + x + []string{" + ", " - ", " * "}[r.IntN(3)] + y + ")"
}

// everyAggregator is all of them over one number, but for those of which a row has a list.
func everyAggregator() []agg.Agg {
	return []agg.Agg{{Op: agg.Sum}, {Op: agg.Avg}, {Op: agg.Min}, {Op: agg.Max}, {Op: agg.StdDev},
		{Op: agg.Quantile, Q: 0.5}, {Op: agg.Quantile, Q: 0.9}, {Op: agg.First}, {Op: agg.Last},
		{Op: agg.Distinct}, {Op: agg.List}, {Op: agg.Hist}, {Op: agg.LHist, Lo: -100, Hi: 100, Step: 7}}
}

func aggregated(p *expr.Program, events []*event.Event) *agg.Group {
	aggs := everyAggregator()
	if p.Node != nil {
		for i := range aggs {
			aggs[i].Type = expr.NumbersOf(p.Node)
		}
	}
	g := agg.New(agg.Spec{Args: []agg.Arg{{Fn: flow.NewFn([]*expr.Program{p}, 0)}}, Aggs: aggs})
	g.Events(events)
	return g
}

// cellsOf is the cells of a row, and its histograms.
func cellsOf(g *agg.Group) (cells []event.Value, hists string) {
	aggs, _ := g.Aggs()
	for i := range aggs {
		if aggs[i].Op.Histogram() {
			hists += fmt.Sprint(g.Histograms(i))
		}
	}
	return g.Rows()[0], hists
}

// Random functions over values of every type, natively and interpreted, through every aggregator: against
// big.Float. PPSCRIPT_RUNS=100000 asks for so many functions, which take minutes.
func TestNumbersKeepTheirTypes(t *testing.T) {
	functions, batch, events := 20000, 500, 9
	if n, err := strconv.Atoi(os.Getenv("PPSCRIPT_RUNS")); err == nil {
		functions = n
	} else if testing.Short() {
		functions = 3000
	}
	s := numbersSchema()
	sc := &expr.Scope{Schema: s}
	st := &event.Stream{Schema: s}
	r := rand.New(rand.NewPCG(31, seed(t)))
	lowered, values, failures := 0, 0, uint64(0)
	why := map[string]int{}
	for range functions / batch {
		var src strings.Builder
		for i := range batch {
			fmt.Fprintf(&src, "def f%d(e):\n    return %s\n", i, numberExpr(r, 3))
		}
		h := script.NewHost(script.HostOptions{Predeclared: randomNames()})
		m, err := h.LoadSource("f.star", src.String())
		if err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			f, err := NewFunc(h, m.Globals[fmt.Sprint("f", i)].(starlark.Callable))
			if err != nil {
				t.Fatal(err)
			}
			var list []*event.Event
			for range 1 + r.IntN(events) {
				list = append(list, numbersEvent(r, st))
			}
			text := strings.Split(src.String(), "\n")[2*i+1]
			interpreted := aggregated(expr.Interpreted(f.Call, expr.Type{Kind: expr.Any}), list)
			exact(t, text, interpreted, f, list)
			values, failures = values+len(list), failures+interpreted.Loss().Errors
			node, err := f.Lower(sc, expr.Float)
			if err != nil {
				why[err.(*notLowered).Reason]++
				continue
			}
			lowered++
			native := aggregated(expr.Build(node), list)
			got, gotHists := cellsOf(native)
			want, wantHists := cellsOf(interpreted)
			if a, b := native.Loss().Errors, interpreted.Loss().Errors; a != b {
				t.Fatalf("%s: got %d errors natively, %d interpreted: %v, %v", text, a, b,
					native.Errors().First, interpreted.Errors().First)
			}
			for k := range got {
				if a, b := got[k], want[k]; a.Compare(b) != 0 || a.Numeric() != b.Numeric() ||
					(a.Kind == event.FloatValue) != (b.Kind == event.FloatValue) {
					if k == 0 && a.Compare(b) == 0 && native.Loss().Errors == uint64(len(list)) {
						continue // the sum of nothing is of the type that is known
					}
					t.Fatalf("%s: %s: got %v natively, %v interpreted", text, everyAggregator()[k].Op.Name,
						a, b)
				}
			}
			if gotHists != wantHists {
				t.Fatalf("%s: got %s natively, %s interpreted", text, gotHists, wantHists)
			}
		}
	}
	t.Logf("%d of %d functions lowered, %d values, %d errors", lowered, functions, values, failures)
	if lowered < functions/8 {
		t.Errorf("only %d of %d functions were lowered: %v", lowered, functions, why)
	}
}

// linearExpr is a random linear function of an integer, as it is computed and without rounding.
func linearExpr(r *rand.Rand) (text string, x event.Field, exact func(v *big.Rat) *big.Rat) {
	fields := numbersSchema().Fields[:4]
	x = fields[r.IntN(len(fields))]
	text, exact = "e."+x.Name, func(v *big.Rat) *big.Rat { return v }
	for i := range 1 + r.IntN(3) {
		constant := []string{"4", "0.5", "-3", "1e300", "7", "0.1", "-2", "1e-9", "9007199254740993",
			"1000"}[r.IntN(10)]
		value, _ := new(big.Rat).SetString(constant)
		nearest, _ := value.Float64()
		k, before := new(big.Rat).SetFloat64(nearest), exact
		op := r.IntN(6)
		if i == 0 {
			op = 0 // what begins with a quotient has doubles from there on
		}
		switch op {
		case 0:
			text = "(" + text + " / " + constant + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Quo(before(v), k) }
		case 1:
			text = "(" + text + " + " + constant + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Add(before(v), k) }
		case 2:
			text = "(" + constant + " - " + text + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Sub(k, before(v)) }
		case 3:
			text = "(" + text + " * " + constant + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Mul(before(v), k) }
		case 4:
			text = "(-" + text + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Neg(before(v)) }
		default:
			text = "(" + text + " - " + constant + ")"
			exact = func(v *big.Rat) *big.Rat { return new(big.Rat).Sub(before(v), k) }
		}
	}
	return text, x, exact
}

// Linear functions that are computed behind the aggregators: sums and means are the exact ones, rounded
// once; minimum, maximum and quantiles are what the interpreter's own numbers have.
func TestLinearFunctionsMoveBehindAggregators(t *testing.T) {
	functions, moved := 2000, 0
	if testing.Short() {
		functions = 300
	}
	s := numbersSchema()
	sc, st := &expr.Scope{Schema: s}, &event.Stream{Schema: s}
	r := rand.New(rand.NewPCG(36, seed(t)))
	for range functions {
		text, field, exact := linearExpr(r)
		f := lowerHost(t, "lambda e: "+text)
		node, err := f.Lower(sc, expr.Float)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var events []*event.Event
		for range 1 + r.IntN(60) {
			events = append(events, numbersEvent(r, st))
		}
		x, l, ok := agg.SplitLinear(node)
		if !ok {
			if !strings.Contains(text, "1e300") {
				t.Fatalf("%s: it is not split", text)
			}
			continue
		}
		moved++
		if k := expr.NumbersOf(x).Kind; k != expr.Int {
			t.Fatalf("%s: got a %v, want an integer", text, k)
		}
		aggs := everyAggregator()[:7]
		spec := agg.Spec{Args: []agg.Arg{{Fn: flow.NewFn([]*expr.Program{expr.Build(x)}, 0)}}}
		at := []int{}
		for i, a := range aggs {
			if a.Op.Moves(l) {
				a.Linear, at = l, append(at, i)
				spec.Aggs = append(spec.Aggs, a)
			}
		}
		group := agg.New(spec)
		group.Events(events)
		got, _ := cellsOf(group)
		want, _ := cellsOf(aggregated(expr.Interpreted(f.Call, expr.Type{Kind: expr.Any}), events))
		sum := new(big.Rat)
		for _, e := range events {
			whole, _ := new(big.Rat).SetString(field.Value(e).String())
			sum.Add(sum, exact(whole))
		}
		total, _ := sum.Float64()
		mean, _ := new(big.Rat).Quo(sum, new(big.Rat).SetInt64(int64(len(events)))).Float64()
		for i, k := range at {
			switch wanted := want[k]; k {
			case 0, 1:
				number := []float64{total, mean}[k]
				if got[i].Kind != event.FloatValue || got[i].Float() != number {
					t.Fatalf("%s: %s: got %v, want %v", text, aggs[k].Op.Name, got[i], number)
				}
			default:
				if got[i].Compare(wanted) != 0 || got[i].Kind != wanted.Kind {
					t.Fatalf("%s: %s: got %v, want %v", text, aggs[k].Op.Name, got[i], wanted)
				}
			}
		}
	}
	if t.Logf("%d of %d functions moved", moved, functions); moved < functions/2 {
		t.Errorf("only %d of %d functions were moved", moved, functions)
	}
}

// exactly is a value without rounding.
func exactly(v event.Value) *big.Float {
	x := new(big.Float).SetPrec(2400)
	switch v.Kind {
	case event.FloatValue:
		return x.SetFloat64(v.Float())
	case event.UintValue:
		return x.SetUint64(v.Uint())
	}
	return x.SetInt64(v.Int())
}

// exact compares the cells of a group with arithmetic that does not round.
func exact(t *testing.T, text string, g *agg.Group, f *Func, events []*event.Event) {
	t.Helper()
	var list []event.Value
	floats, integers := false, false
	sum, size := new(big.Float).SetPrec(2400), new(big.Float).SetPrec(2400)
	for _, e := range events {
		v, err := f.Call(e)
		n, _ := v.Number()
		if err != nil || n.NaN() {
			continue
		}
		if math.IsInf(v.Float(), 0) {
			return // sums with infinity are not exact
		}
		list = append(list, v)
		if v.Kind == event.FloatValue {
			floats = true
		} else {
			integers = true
		}
		x := exactly(v)
		sum.Add(sum, x)
		size.Add(size, x.Abs(x))
	}
	if len(list) == 0 {
		return
	}
	n := new(big.Float).SetInt64(int64(len(list)))
	mean := new(big.Float).SetPrec(2400).Quo(sum, n)
	if !floats {
		whole, _ := mean.Int(nil)
		mean.SetInt(whole)
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, event.Value.Compare)
	rank := func(q float64) event.Value { return sorted[max(int(math.Ceil(q*float64(len(list)))), 1)-1] }
	got, _ := cellsOf(g)
	is := func(at int, want event.Value) {
		t.Helper()
		if got[at].Compare(want) != 0 || got[at].Kind != want.Kind && floats != integers {
			t.Fatalf("%s: %s of %v: got %v, want %v", text, everyAggregator()[at].Op.Name, list,
				got[at], want)
		}
	}
	// A double is the one that is nearest, but for what the sum of two doubles has no digits for.
	near := func(at int, want *big.Float) {
		t.Helper()
		nearest, _ := want.Float64()
		if got[at].Kind != event.FloatValue && exactly(got[at]).Cmp(want) == 0 {
			return
		}
		away := exactly(got[at])
		away.Abs(away.Sub(away, want))
		bound := new(big.Float).SetMantExp(size, -100)
		bound.Add(bound, new(big.Float).SetFloat64(math.Abs(nearest-math.Nextafter(nearest, 0))))
		bound.Add(bound, new(big.Float).SetFloat64(math.SmallestNonzeroFloat64))
		if got[at].Kind != event.FloatValue || away.Cmp(bound) > 0 {
			t.Fatalf("%s: %s of %v: got %v, want %v", text, everyAggregator()[at].Op.Name, list,
				got[at], nearest)
		}
	}
	if limit := new(big.Float).SetFloat64(math.MaxFloat64); size.Cmp(limit) < 0 {
		near(0, sum)
		near(1, mean)
	}
	is(2, sorted[0])
	is(3, sorted[len(sorted)-1])
	// Squares of what is smaller than 1e-140 are no doubles.
	if squares := new(big.Float).SetPrec(2400); len(list) > 1 {
		middle := new(big.Float).SetPrec(2400).Quo(sum, n)
		for _, v := range list {
			d := exactly(v)
			d.Sub(d, middle)
			squares.Add(squares, d.Mul(d, d))
		}
		squares.Quo(squares, new(big.Float).SetInt64(int64(len(list)-1)))
		want, _ := squares.Sqrt(squares).Float64()
		largest := math.Max(math.Abs(sorted[0].Float()), math.Abs(sorted[len(sorted)-1].Float()))
		if d := math.Abs(got[4].Float() - want); !(d <= want*1e-9+largest*1e-14+1e-140) {
			t.Fatalf("%s: stddev of %v: got %v, want %v", text, list, got[4], want)
		}
	}
	is(5, rank(0.5))
	is(6, rank(0.9))
	is(7, list[0])
	is(8, list[len(list)-1])
	if got[10].Compare(event.ListOf(list...)) != 0 {
		t.Fatalf("%s: got the list %v, want %v", text, got[10], list)
	}
	// Each number is between the bounds of a bucket, and the counts are those of the numbers.
	aggs, _ := g.Aggs()
	for i := range aggs {
		if !aggs[i].Op.Histogram() {
			continue
		}
		for _, b := range g.Histograms(i)[0].Buckets {
			var in uint64
			for _, v := range list {
				above := b.Lo == math.MinInt64 || v.Compare(event.IntOf(b.Lo)) >= 0
				if above && (b.Hi == math.MaxInt64 || v.Compare(event.IntOf(b.Hi)) < 0) {
					in++
				}
			}
			if in != b.Count {
				t.Fatalf("%s: %v: got %d from %d to %d, want %d", text, list, b.Count, b.Lo, b.Hi, in)
			}
		}
	}
}
