package chance

import (
	"math"
	"slices"
	"testing"
)

// The tails equal the tails in tables of Student's t and of the binomial distribution.
func TestTailsAreThoseOfTables(t *testing.T) {
	f := func(got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-4*math.Max(want, 1e-3) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	f(Student(2.228139, 10), 0.05)
	f(Student(-4.586894, 10), 0.001)
	f(Student(12.7062, 1), 0.05)
	f(Student(0, 3), 1)
	// 2 * P(X >= 9) of 10 coins is 2 * 11/1024; 2 * P(X <= 0) of 4 dice is 2 * (5/6)^4, at most 1.
	f(Share(9, 10, 2), 22.0/1024)
	f(Share(0, 10, 2), 2.0/1024)
	f(Share(0, 4, 6), 2*625.0/1296)
	f(Share(3, 3, 6), 2.0/216)
}

// The corrected probabilities equal the result of R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
func TestHolm(t *testing.T) {
	got := Holm([]float64{0.01, 0.04, 0.03, 0.005}, 4)
	for i := range got {
		got[i] = math.Round(got[i]*1e9) / 1e9
	}
	if want := []float64{0.03, 0.06, 0.06, 0.02}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
