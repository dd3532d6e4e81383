package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"ppscript/runtime/result/chance"
)

// This file tests whether two sets of numbers differ by more than chance. Each set is in order of
// time.
//
// Tempting and wrong: the bootstrap alone. With ten intervals it cannot return a probability below
// a thousandth, but a table of a hundred rows needs one because of the correction. Student's t can;
// the bootstrap may only raise its probability. But t is too confident for numbers with a long
// tail, such as times and extremes, since a few intervals rarely show the tail. So the logarithms
// of the numbers must differ by t as well.

// resamples is the number of bootstrap samples that are drawn.
const resamples = 4_999

// leastBatches is the smallest number of batches that is compared. Fewer batches would find hardly
// any difference.
const leastBatches = 8

// A sampler draws bootstrap samples. Its seed is fixed, so that a comparison
// always has the same result.
type sampler struct{ random *rand.Rand }

func newSampler() *sampler { return &sampler{rand.New(rand.NewPCG(20, 5))} }

// A verdict is the result of the tests for one difference.
type verdict struct {
	p         float64 // probability of the difference by chance; NaN if it cannot be judged
	low, high float64 // bounds of the change in 95 of 100 cases, as a share of a's mean; NaN if unknown
}

func unjudged() verdict { return verdict{math.NaN(), math.NaN(), math.NaN()} }

// judge compares a with b. If they are paired, a[i] and b[i] belong to the same host or
// file.
func (s *sampler) judge(a, b []float64, paired bool) verdict {
	if paired {
		return s.pairs(a, b)
	}
	a, b = present(a), present(b)
	switch {
	case len(a) >= chance.Least && len(b) >= chance.Least:
	case len(a) >= chance.Least && len(b) > 0:
		return another(a, mean(b))
	case len(b) >= chance.Least && len(a) > 0:
		return another(b, mean(a))
	default:
		return unjudged()
	}
	if absent(a) || absent(b) {
		return s.absence(a, b)
	}
	v := s.means(a, b)
	// Two tests answer one question, so each has half of the level.
	if byRanks := ranks(a, b); byRanks < v.p {
		v.p = byRanks
		v.low, v.high = shifts(a, b)
	}
	v.p = min(1, 2*v.p)
	return v
}

// absent reports whether a number is 0 in all intervals of a run.
func absent(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v != 0 })
}

// absence compares two runs if the number is 0 in all intervals of one of them. If both runs did
// the same, the intervals with other numbers would be spread over both. So both runs get one common
// variance (Student's t with one variance), which a few intervals estimate better than one variance
// for each run. The resemblance of neighbouring intervals is ignored: a phase of a program that
// only one run reaches is a real difference. A burst of a few intervals remains noise.
func (s *sampler) absence(a, b []float64) verdict {
	if absent(a) && absent(b) {
		return verdict{p: 1, low: math.NaN(), high: math.NaN()}
	}
	bend := bending(a, b)
	p := max(pooled(a, b), pooled(bent(a, bend), bent(b, bend)))
	if p > chance.Level {
		return verdict{p: p, low: math.NaN(), high: math.NaN()}
	}
	v := s.bootstrap(verdict{}, mean(a), mean(b)-mean(a), s.noise(a, b))
	v.p = p
	return v
}

// pooled returns the probability by Student's t of two sets with a common
// variance.
func pooled(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	na, nb := float64(len(a)), float64(len(b))
	variance := ((na-1)*va + (nb-1)*vb) / (na + nb - 2)
	return student(mb-ma, variance*(1/na+1/nb), na+nb-2)
}

// means compares the means of a and b.
func (s *sampler) means(a, b []float64) verdict {
	v := verdict{p: welch(a, b), low: math.NaN(), high: math.NaN()}
	bend := bending(a, b)
	v.p = max(v.p, welch(bent(a, bend), bent(b, bend)))
	for k := 2; min(len(a), len(b))/k >= leastBatches; k *= 2 {
		v.p = max(v.p, welch(batches(a, k), batches(b, k)))
	}
	if v.p > chance.Level {
		return v
	}
	return s.bootstrap(v, mean(a), mean(b)-mean(a), s.noise(a, b))
}

// pairs compares a[i] with b[i] for each i, such as the numbers of one host.
func (s *sampler) pairs(a, b []float64) verdict {
	var d []float64
	for i := range a {
		if x := b[i] - a[i]; !math.IsNaN(x) {
			d = append(d, x)
		}
	}
	if len(d) < chance.Least {
		return unjudged()
	}
	m, v := moments(d)
	n := float64(len(d))
	out := verdict{p: student(m, v/n, n-1), low: math.NaN(), high: math.NaN()}
	if out.p > chance.Level {
		return out
	}
	return s.bootstrap(out, mean(a), m, s.noise(nil, d))
}

// bootstrap raises the probability of a verdict if random samples often differ by as much as the
// difference, and sets the bounds. draw returns the noise of the difference in a new sample; bounds
// are shares of of.
func (s *sampler) bootstrap(v verdict, of, difference float64, draw func() float64) verdict {
	noise := make([]float64, resamples)
	hits := 0
	for i := range noise {
		noise[i] = draw()
		if math.Abs(noise[i]) >= math.Abs(difference) {
			hits++
		}
	}
	v.p = max(v.p, float64(hits)/resamples)
	slices.Sort(noise)
	v.low, v.high = (difference+noise[resamples/40])/of, (difference+noise[resamples-1-resamples/40])/of
	return v
}

// noise returns a function that draws samples of a and b, and returns how far the
// difference of their means is from the real one.
func (s *sampler) noise(a, b []float64) func() float64 {
	a, b = centred(a), centred(b)
	return func() float64 { return s.drawn(b) - s.drawn(a) }
}

// centred returns the distances of the numbers from their mean. A factor corrects that a small
// sample varies less than the population.
func centred(list []float64) []float64 {
	m, n := mean(list), float64(len(list))
	return bent(list, func(v float64) float64 { return (v - m) * math.Sqrt(n/(n-1)) })
}

// drawn returns the mean of a bootstrap sample: as many numbers as list has, drawn in sequences
// of neighbours.
func (s *sampler) drawn(list []float64) float64 {
	n := len(list)
	if n == 0 {
		return 0
	}
	block := max(1, int(math.Round(math.Cbrt(float64(n)))))
	sum, at := 0.0, 0
	for i := range n {
		if i%block == 0 {
			at = s.random.IntN(n)
		}
		sum += list[(at+i%block)%n]
	}
	return sum / float64(n)
}

// welch returns the probability by Student's t of two sets with different
// variances.
func welch(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	na, nb := float64(len(a)), float64(len(b))
	va, vb = va/na, vb/nb
	freedom := 1.0
	if va+vb > 0 {
		freedom = (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	}
	return student(mb-ma, (va+vb)*inertia(a, b), freedom)
}

// ranks returns the probability of the ranks that the numbers of a and b have among all numbers
// (Mann and Whitney's U). A few unusual intervals, such as the start of a program, hardly change
// the ranks. If the ranks and the means changed in different directions, it returns 1.
func ranks(a, b []float64) float64 {
	all := slices.Concat(a, b)
	order := slices.Clone(all)
	slices.Sort(order)
	ties := 0.0
	rank := func(v float64) float64 {
		first, _ := slices.BinarySearch(order, v)
		last := first
		for last < len(order) && order[last] == v {
			last++
		}
		return float64(first+last+1) / 2
	}
	for i := 0; i < len(order); {
		n := 1
		for i+n < len(order) && order[i+n] == order[i] {
			n++
		}
		t := float64(n)
		ties += t * (t*t - 1)
		i += n
	}
	ra, rb := bent(a, rank), bent(b, rank)
	na, nb := float64(len(a)), float64(len(b))
	n := na + nb
	shift := mean(rb) - mean(ra)
	if shift*(mean(b)-mean(a)) <= 0 {
		return 1
	}
	// U is na*nb*shift/n above its mean; 0.5 is subtracted since ranks are whole numbers
	// (continuity correction).
	u := max(0, na*nb*math.Abs(shift)/n-0.5)
	variance := na * nb / 12 * (n + 1 - ties/(n*(n-1))) * inertia(middle(ra), middle(rb))
	if variance <= 0 {
		return 1
	}
	return math.Erfc(u / math.Sqrt(2*variance))
}

// mostShifts bounds the number of pairs that shifts computes.
const mostShifts = 1 << 18

// shifts returns bounds for the shift from a to b, as a share of a's median, from the differences
// of all pairs (Hodges and Lehmann).
func shifts(a, b []float64) (low, high float64) {
	of := median(a)
	if len(a)*len(b) > mostShifts || of == 0 {
		return math.NaN(), math.NaN()
	}
	all := make([]float64, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			all = append(all, y-x)
		}
	}
	slices.Sort(all)
	na, nb := float64(len(a)), float64(len(b))
	k := int(max(0, na*nb/2-1.96*math.Sqrt(na*nb*(na+nb+1)/12)))
	return all[k] / of, all[len(all)-1-k] / of
}

// middle moves numbers beyond the quartiles to the quartiles. So the first intervals of a program,
// which differ from its others, do not count as resemblance of neighbours.
func middle(list []float64) []float64 {
	order := slices.Clone(list)
	slices.Sort(order)
	least, greatest := order[len(order)/4], order[len(order)-1-len(order)/4]
	return bent(list, func(v float64) float64 { return min(max(v, least), greatest) })
}

// inertia returns the factor by which the variance of a mean grows because each number resembles
// the one before (autocorrelation); 1 if they are independent.
func inertia(lists ...[]float64) float64 {
	const most = 0.8 // with few numbers, larger values cannot be distinguished
	product, square, n := 0.0, 0.0, 0.0
	for _, list := range lists {
		m := mean(list)
		for i, v := range list {
			square += (v - m) * (v - m)
			if i > 0 {
				product += (v - m) * (list[i-1] - m)
			}
		}
		n += float64(len(list))
	}
	if square == 0 {
		return 1
	}
	// The autocorrelation around the numbers' own mean is too small by about
	// 1/n for each list.
	r := min(most, product/square+float64(len(lists))/n)
	return (1 + max(0, r)) / (1 - max(0, r))
}

// student returns the probability of a difference with such a variance.
func student(difference, variance, freedom float64) float64 {
	// Variances as small as the rounding errors of floating point are zero.
	if difference == 0 || variance < 1e-24*difference*difference {
		if difference == 0 {
			return 1
		}
		return 0
	}
	return chance.Student(difference/math.Sqrt(variance), freedom)
}

// another judges whether one more number could belong to a list, from the spread of the list.
func another(list []float64, one float64) verdict {
	v := unjudged()
	n := float64(len(list))
	if len(slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return x == 0 })) < chance.Least {
		return v // too few numbers for an estimate of the spread
	}
	bend := bending(list, []float64{one})
	for _, f := range []func(float64) float64{func(x float64) float64 { return x }, bend} {
		m, s := moments(bent(list, f))
		v.p = max(orZero(v.p), student(f(one)-m, s*(1+1/n), n-1))
	}
	all := bent(list, bend)
	least, greatest := slices.Min(all), slices.Max(all)
	if beyond := greatest - least; bend(one) >= least-beyond && bend(one) <= greatest+beyond {
		v.p = 1 // the list may have a long tail
	}
	return v
}

// bending returns a function that shortens a long tail: the logarithm, or the square root if there
// are zeros, or the identity if there are negative numbers.
func bending(lists ...[]float64) func(float64) float64 {
	least := math.Inf(1)
	for _, list := range lists {
		least = min(least, slices.Min(list))
	}
	switch {
	case least > 0:
		return math.Log
	case least == 0:
		return math.Sqrt
	}
	return func(v float64) float64 { return v }
}

func bent(list []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

// batches returns the means of each k neighbours. The first len(list)%k numbers are left out.
func batches(list []float64, k int) []float64 {
	out := make([]float64, 0, len(list)/k)
	for list = list[len(list)%k:]; len(list) > 0; list = list[k:] {
		out = append(out, mean(list[:k]))
	}
	return out
}

// moments returns the mean, and the variance of the population that the numbers
// are a sample of.
func moments(list []float64) (m, variance float64) {
	m = mean(list)
	for _, v := range list {
		variance += (v - m) * (v - m)
	}
	return m, variance / float64(len(list)-1)
}

func present(list []float64) []float64 { return slices.DeleteFunc(slices.Clone(list), math.IsNaN) }
