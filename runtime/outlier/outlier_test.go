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
		values[i] = 100 + float64(i%5) // the median is 102, the MAD 1
	}
	values[20] = 160
	var test Test
	test.Add(7, values, false)
	test.Add(8, make([]float64, 21), false) // all the same
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
				test.Add(c, values, counts)
			}
			if len(test.Findings()) > 0 {
				wrong++
			}
		}
		// Three standard deviations above the level.
		if most := rounds*Level + 3*math.Sqrt(rounds*Level*(1-Level)); float64(wrong) > most {
			t.Errorf("%s, %d sources: wrong in %d of %d, want at most %.0f", name, sources, wrong, rounds, most)
		}
	}
	for _, n := range []int{5, 8, 50} {
		f("normal", n, false, func() float64 { return 50 + 7*r.NormFloat64() })
		f("counts around 40", n, true, func() float64 { return poisson(40) })
		f("counts around 1", n, true, func() float64 { return poisson(1) })
		f("counts around 0.05", n, true, func() float64 { return poisson(0.05) })
	}
}
