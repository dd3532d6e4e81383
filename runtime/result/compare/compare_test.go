package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ppscript/runtime/result/chance"
)

// A source makes the numbers of the intervals of a run.
type source struct {
	r *rand.Rand
}

func (s source) poisson(mean float64) float64 {
	if mean > 200 {
		return math.Max(0, math.Round(mean+math.Sqrt(mean)*s.r.NormFloat64()))
	}
	n, p := 0.0, s.r.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= s.r.Float64()
	}
	return n
}

// run adds a run of a table like that of system calls: frequent and rare rows, with calls, their time and
// the mean of it. noise is the spread of the load, which all rows share; carried is how much of it stays
// from one interval to the next. factor changes the calls of one row, slower the time of each of another.
func (s source) run(c *Comparison, run, intervals int, noise, carried, factor, slower float64) {
	load := 0.0
	for i := range intervals {
		load = carried*load + noise*math.Sqrt(1-carried*carried)*s.r.NormFloat64()
		part := c.Part(run, Part{Source: "f", At: int64(i), Seconds: 1})
		for row := range 30 {
			mean := 2000 / math.Pow(1.5, float64(row)) // down to 0.02 for each interval
			if row == 3 {
				mean *= factor
			}
			calls := s.poisson(mean * math.Exp(load+0.02*s.r.NormFloat64()))
			if calls == 0 {
				continue
			}
			each := 5000 * math.Exp(0.8*s.r.NormFloat64()/math.Sqrt(calls)) // ns
			if row == 5 {
				each *= slower
			}
			name := fmt.Sprintf("call%d", row)
			add := func(column string, how How, v float64) {
				cell := Cell{Result: "table", Row: name, Column: column, How: how, Counts: column == "calls"}
				c.Cell(&cell).Add(run, part, v)
			}
			add("calls", Rate, calls)
			add("total", Rate, calls*each)
			add("avg", Level, each)
			add("max", Level, each*math.Exp(1.5+math.Abs(s.r.NormFloat64())))
		}
	}
}

// TestTheSameDoesNotDiffer checks that two runs of the same do not differ, in 95 of 100 comparisons
// at least: with few intervals and many, with a load that is even, that varies, and that stays for
// a while when it has changed.
func TestTheSameDoesNotDiffer(t *testing.T) {
	s := source{rand.New(rand.NewPCG(1, 20))}
	const rounds = 25
	all := 0
	f := func(intervals [2]int, noise, carried float64) {
		t.Helper()
		wrong := 0
		for range rounds {
			c := New("a", "b")
			s.run(c, 0, intervals[0], noise, carried, 1, 1)
			s.run(c, 1, intervals[1], noise, carried, 1, 1)
			r := c.Report()
			if r.Compared < 40 {
				t.Fatalf("%v intervals: got %d cells compared, want at least 40", intervals, r.Compared)
			}
			if r.Differ > 0 {
				wrong++
			}
		}
		// Three standard deviations above the level.
		most := rounds*chance.Level + 3*math.Sqrt(rounds*chance.Level*(1-chance.Level))
		if all += wrong; float64(wrong) > most {
			t.Errorf("%v intervals, noise %v, carried %v: wrong in %d of %d, want at most %.0f", intervals,
				noise, carried, wrong, rounds, most)
		}
	}
	kinds := [][2]int{{5, 5}, {10, 30}, {40, 40}, {20, 1}}
	for _, n := range kinds {
		f(n, 0.02, 0)
		f(n, 0.3, 0)
		f(n, 0.2, 0.5)
	}
	rate := float64(all) / float64(3*len(kinds)*rounds)
	t.Logf("wrong in %.1f %% of all", 100*rate)
	if rate > chance.Level {
		t.Errorf("wrong in %.1f %% of all comparisons, want %g %% at most", 100*rate, 100*chance.Level)
	}
}

// A known difference is found, and comes first: a fifth more of one call, or one that became slower.
func TestADifferenceIsFoundAndComesFirst(t *testing.T) {
	s := source{rand.New(rand.NewPCG(2, 20))}
	f := func(intervals [2]int, noise, factor, slower float64, row string) {
		t.Helper()
		const rounds = 20
		found := 0
		for range rounds {
			c := New("a", "b")
			s.run(c, 0, intervals[0], noise, 0, 1, 1)
			s.run(c, 1, intervals[1], noise, 0, factor, slower)
			if first := c.Report().Changes[0]; first.Differs && first.Row == row {
				found++
			}
		}
		if found < 19 {
			t.Errorf("%v intervals, noise %v, %s: found in %d of %d, want 19", intervals, noise, row,
				found, rounds)
		}
	}
	f([2]int{10, 10}, 0.02, 1.2, 1, "call3")
	f([2]int{30, 30}, 0.1, 1.2, 1, "call3")
	f([2]int{30, 20}, 0.02, 1, 1.3, "call5")
	f([2]int{20, 1}, 0.02, 1.5, 1, "call3")
	f([2]int{5, 5}, 0.02, 1.6, 1, "call3")
}
