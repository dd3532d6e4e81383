// Package chance computes how probable an observed difference is if only chance caused it. It has
// Student's t for means, the binomial test for counts of events, and Holm's correction for many
// comparisons at once. It sees only numbers: packages outlier and compare decide which numbers are
// compared.
package chance

import (
	"cmp"
	"math"
	"slices"
)

// Level bounds the probability that any finding is wrong, among all numbers that
// are compared at once.
const Level = 0.05

// Least is the smallest number of sources, or intervals, that can be compared.
const Least = 5

// Holm corrects each probability in p for the number of comparisons (Holm's method). If all
// corrected probabilities below a level are reported as findings, the probability that any of them
// is wrong is at most that level, even if the comparisons depend on each other. p may lack
// comparisons with larger probabilities, but compared counts them too.
func Holm(p []float64, compared int) []float64 {
	by := make([]int, len(p))
	for i := range by {
		by[i] = i
	}
	slices.SortStableFunc(by, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, most := make([]float64, len(p)), 0.0
	for rank, i := range by {
		most = max(most, min(1, p[i]*float64(compared-rank)))
		out[i] = most
	}
	return out
}

// Student returns the probability that Student's t with so many degrees of
// freedom is at least as far from 0 as z.
func Student(z, freedom float64) float64 {
	if math.IsInf(z, 0) {
		return 0
	}
	return beta(freedom/2, 0.5, freedom/(freedom+z*z))
}

// Share returns the probability that one of n sources gets k of all events or a more extreme count,
// if each event comes to each source with the same probability. It is twice the smaller tail of the
// binomial distribution.
func Share(k, all, n float64) float64 {
	if k < 0 || all <= 0 {
		return 0 // not a number of events
	}
	atLeast, atMost := 1.0, 1.0
	if k > 0 {
		atLeast = beta(k, all-k+1, 1/n)
	}
	if k < all {
		atMost = beta(all-k, k+1, 1-1/n)
	}
	return min(1, 2*min(atLeast, atMost))
}

// beta is the regularized incomplete beta function I_x(a, b), by its continued fraction with Lentz's method.
func beta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - beta(b, a, 1-x) // here the fraction converges fast
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny, enough = 1e-300, 1e-12
	not0 := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/not0(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 100_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/not0(1+even*d), not0(1+even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/not0(1+odd*d), not0(1+odd/c)
		f *= d * c
		if math.Abs(d*c-1) < enough {
			break
		}
	}
	return front * f
}
