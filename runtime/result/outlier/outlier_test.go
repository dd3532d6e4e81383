package outlier

import (
	"math"
	"math/rand/v2"
	"testing"
)

// One of twenty that differs is found, with the numbers that a calculation by hand has.
func TestOneThatDiffers(t *testing.T) {
	values := make([]float64, 21)
	for i := range values {
		values[i] = 100 + float64(i%5) // the median of 20 is 102, the MAD 1
	}
	values[20] = 160
	var test Test
	test.Add(7, &Cell{Values: values})
	test.Add(8, &Cell{Values: make([]float64, 21)}) // all the same
	got := test.Findings()
	if len(got) != 1 || got[0].Cell != 7 || got[0].Source != 20 || got[0].Median != 102 ||
		math.Abs(got[0].Z-58/1.482602) > 1e-9 || test.Compared != 42 {
		t.Fatalf("got %+v of %d", got, test.Compared)
	}
}

// What chance alone explains is not found, in 95 of 100 tests at least: of normal numbers, of counts that
// are large and small, for few sources and many.
func TestChanceIsNotFound(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	poisson := func(mean float64) float64 {
		n, p := 0.0, r.Float64()
		for limit := math.Exp(-mean); p > limit; n++ {
			p *= r.Float64()
		}
		return n
	}
	sums := false
	events := func(values []float64) (list []float64) {
		if sums { // each event is 3
			for _, v := range values {
				list = append(list, v/3)
			}
		}
		return list
	}
	f := func(name string, sources int, counts bool, draw func() float64) {
		t.Helper()
		const rounds, cells = 150, 20
		wrong := 0
		values := make([]float64, sources)
		for range rounds {
			var test Test
			for c := range cells {
				for i := range values {
					values[i] = draw()
				}
				test.Add(c, &Cell{Values: values, Counts: counts, Events: events(values)})
			}
			if len(test.Findings()) > 0 {
				wrong++
			}
		}
		// Three standard deviations above the level.
		if most := rounds*Level + 3*math.Sqrt(rounds*Level*(1-Level)); float64(wrong) > most {
			t.Errorf("%s, %d sources: wrong in %d of %d, want at most %.0f", name, sources, wrong, rounds,
				most)
		}
	}
	for _, n := range []int{5, 8, 50} {
		f("normal", n, false, func() float64 { return 50 + 7*r.NormFloat64() })
		f("counts around 40", n, true, func() float64 { return poisson(40) })
		f("counts around 1", n, true, func() float64 { return poisson(1) })
		f("counts around 0.05", n, true, func() float64 { return poisson(0.05) })
		sums = true
		f("sums of 40", n, false, func() float64 { return 3 * poisson(40) })
		f("sums of 0.05", n, false, func() float64 { return 3 * poisson(0.05) })
		sums = false
	}
}

// What all others have none of is found where one has much of it, and how many hosts have it does not hide
// them; one event is no finding.
func TestOneAmongZeros(t *testing.T) {
	f := func(name string, want int, counts bool, each float64, values ...float64) {
		t.Helper()
		c := &Cell{Values: make([]float64, 10), Counts: counts}
		copy(c.Values, values)
		if !counts {
			for _, v := range c.Values {
				c.Events = append(c.Events, v/each)
			}
		}
		var test Test
		test.Add(0, c)
		for i := range 30 { // so many others that nothing is wrong with
			test.Add(1+i, &Cell{Values: []float64{5, 4, 6, 5, 5, 4, 6, 5, 4, 6}, Counts: true})
		}
		if got := test.Findings(); len(got) != want {
			t.Errorf("%s: got %+v, want %d", name, got, want)
		}
	}
	f("10,000 errors", 1, true, 1, 10_000)
	f("10,000 errors of 4 KiB", 1, false, 4096, 4096*10_000)
	f("one error", 0, true, 1, 1)
	f("one error of 4 KiB", 0, false, 4096, 4096)
	f("three of ten hosts have some", 0, true, 1, 90, 110, 100)
}
