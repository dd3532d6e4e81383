package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// Whatever differs, the bounds of a change hold the change, nothing falls by more than all of it, and no
// share grows to more than all.
func TestBoundsHoldTheEstimate(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	bounded := 0
	for range 150 {
		c := New("a", "b")
		odd := r.IntN(3)
		for run := range 2 {
			n := 5 + r.IntN(20)
			for i := range n {
				part := c.Part(run, Part{Source: "f", At: int64(i), Seconds: 1 + float64(r.IntN(2))})
				share := min(0.97, max(0, 0.3+0.6*float64(run)+0.2*r.NormFloat64()))
				value := 1000 * (1 + 0.5*float64(run)) * math.Exp(0.1*r.NormFloat64())
				if i < odd { // the program starts
					value, share = 30*value, 0
				}
				c.AddAll("s", run, part, 1000)
				function := Cell{Result: "s", Row: "f", Column: self, How: Share, Counts: true}
				c.Cell(&function).Add(run, part, math.Round(1000*share))
				fading := Cell{Result: "s", Row: "g", Column: self, How: Share, Counts: true}
				share = max(0, 0.1-0.09*float64(run)+0.1*r.NormFloat64())
				c.Cell(&fading).Add(run, part, math.Round(1000*share))
				for _, how := range []How{Rate, Level} {
					cell := Cell{Result: "t", Row: fmt.Sprint(how), Column: "v", How: how}
					c.Cell(&cell).Add(run, part, value)
				}
			}
		}
		for _, x := range c.Report().Changes {
			if math.IsNaN(x.Low) {
				continue
			}
			bounded++
			if x.Low > x.Relative || x.High < x.Relative || x.Low < -1 ||
				x.How == Share && x.Before*(1+x.High) > 1+1e-9 {
				t.Fatalf("%s %s: %v to %v is %v, within %v and %v", x.Result, x.Row, x.Before, x.After,
					x.Relative, x.Low, x.High)
			}
		}
	}
	if bounded < 200 {
		t.Errorf("got %d changes with bounds, want at least 200", bounded)
	}
}

// A function that takes half of a run, and nothing of the other one, is no noise: of few intervals beside
// hundreds of other functions, and where it is a phase of the run.
func TestWhatIsGoneIsNoNoise(t *testing.T) {
	f := func(name string, intervals int, share func(i int) float64, want bool) {
		t.Helper()
		r := rand.New(rand.NewPCG(8, 9))
		c := New("a", "b")
		for run := range 2 {
			for i := range intervals {
				part := c.Part(run, Part{Source: "f", At: int64(i), Seconds: 1})
				c.AddAll("s", run, part, 1000)
				add := func(row string, share float64) {
					n := math.Round(1000*share + math.Sqrt(1000*share)*r.NormFloat64())
					cell := Cell{Result: "s", Row: row, Column: self, How: Share, Counts: true}
					c.Cell(&cell).Add(run, part, max(0, n))
				}
				gone := share(i) * float64(1-run)
				add("gone", gone)
				for k := range 300 {
					add(fmt.Sprint("other", k), (1-gone)/300)
				}
			}
		}
		for _, x := range c.Report().Changes {
			if x.Row == "gone" && x.Differs != want {
				t.Errorf("%s: %v to %v differs: %v with p %v, want %v", name, x.Before, x.After, x.Differs,
					x.P, want)
			}
		}
	}
	f("five intervals", 5, func(int) float64 { return 0.53 }, true)
	f("five intervals that vary", 5, func(i int) float64 { return 0.33 + 0.1*float64(i) }, true)
	f("a phase", 20, func(i int) float64 {
		if i < 11 {
			return 0.96
		}
		return 0
	}, true)
	f("a burst", 20, func(i int) float64 {
		if i == 7 || i == 8 {
			return 0.9
		}
		return 0
	}, false)
}

// Of the same work the total is as many times the mean: what is said of one is said of the other.
func TestPerRunHasOneVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	differ, means := 0, 0
	for round := range 40 {
		c := New("a", "b")
		c.Per = PerRun
		slower := []float64{1, 1.15}[round%2]
		for run := range 2 {
			left, n := 10_000.0, 12+2*run
			for i := range n {
				part := c.Part(run, Part{Source: "f", At: int64(i), Seconds: 1})
				calls := math.Floor(left / float64(n-i) * (0.3 + 1.4*r.Float64()))
				if i == n-1 {
					calls = left
				}
				left -= calls
				each := 5000 * math.Exp(0.05*r.NormFloat64())
				if run == 1 {
					each *= slower
				}
				add := func(column string, how How, v float64) {
					cell := Cell{Result: "t", Row: "read", Column: column, How: how,
						Counts: column == "calls"}
					c.Cell(&cell).Add(run, part, v)
				}
				add("calls", Rate, calls)
				add("total", Rate, calls*each)
				add("mean", Level, each)
			}
		}
		verdicts := map[string]bool{}
		for _, x := range c.Report().Changes {
			verdicts[x.Column] = x.Differs
		}
		if verdicts["calls"] {
			t.Errorf("the same calls differ")
		}
		if verdicts["mean"] {
			means++
		}
		if verdicts["mean"] != verdicts["total"] {
			differ++
		}
	}
	if differ > 1 || means < 15 || means > 21 {
		t.Errorf("the total differs from the mean in %d of 40 comparisons, the mean differs in %d; "+
			"want 0 and 20", differ, means)
	}
}

// The change of a cell is a share of its whole column: of all that was there before if less is there now, of
// all that is there now if more is.
func TestChangesAreSharesOfAll(t *testing.T) {
	f := func(before, after, want float64, how How) {
		t.Helper()
		c := New("a", "b")
		for run, v := range []float64{before, after} {
			for i := range 6 {
				part := c.Part(run, Part{Source: "f", At: int64(i), Seconds: 1})
				c.Cell(&Cell{Result: "t", Row: "r", Column: "n", How: how}).Add(run, part, v)
			}
		}
		if got := c.Report().Changes[0].Contribution; math.Abs(got-want) > 1e-9 {
			t.Errorf("%v to %v: got %v, want %v", before, after, got, want)
		}
	}
	for _, how := range []How{Rate, Level} {
		f(530, 1, -529./530, how)
		f(1, 530, 529./530, how)
		f(530, 0, -1, how)
		f(0, 1, 1, how)
		f(100, 50, -0.5, how)
	}
}
