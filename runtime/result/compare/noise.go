package compare

import (
	"math"
	"math/rand/v2"
	"slices"

	"ppscript/runtime/result/chance"
)

// This file tells whether two sets of numbers differ by more than chance. Each set is in order of time.
//
// Tempting and wrong: the bootstrap alone. With ten intervals it knows no probability below a thousandth,
// which a table of a hundred rows needs after correction. Student's t knows it; the bootstrap may only
// object. But t trusts numbers with a long tail, as times and extremes have it, too much: a few intervals
// rarely show the tail. So t has to agree about their logarithms as well.

// resamples is how many bootstrap samples are drawn.
const resamples = 4_999

// leastBatches is how many groups of neighbours have to be left. Fewer would find hardly anything.
const leastBatches = 8

// A sampler draws bootstrap samples, the same ones in each run of the program.
type sampler struct{ random *rand.Rand }

func newSampler() *sampler { return &sampler{rand.New(rand.NewPCG(20, 5))} }

// A verdict is what chance says of a difference.
type verdict struct {
	p         float64 // NaN if it cannot be judged
	low, high float64 // of the change, as a share of a, in 95 of 100 cases; NaN if not known
}

func unjudged() verdict { return verdict{math.NaN(), math.NaN(), math.NaN()} }

// judge compares a with b. Numbers of the same place belong together if they are paired.
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
	// Two tests of one question: each of them has half of the level.
	if byRanks := ranks(a, b); byRanks < v.p {
		v.p = byRanks
		v.low, v.high = shifts(a, b)
	}
	v.p = min(1, 2*v.p)
	return v
}

// absent reports that a run has nothing of a number in any of its intervals.
func absent(list []float64) bool {
	return !slices.ContainsFunc(list, func(v float64) bool { return v != 0 })
}

// absence compares a run with one that has nothing of the number in any interval. If both did the same, the
// intervals with something would be spread over both: so the variance is taken of all intervals around the
// means (Student's t with one variance), which few intervals tell better than one variance for each run.
// That neighbours resemble each other does not count: a phase of a program, which the other run never comes
// to, is the difference that is looked for. A burst of a few intervals remains noise.
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

// pooled is Student's t of two sets with one variance.
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

// pairs compares the numbers of one place with each other, such as those of one host.
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

// bootstrap lets resampling object to a verdict about a difference. draw is the noise of the difference in
// another sample; of is what bounds are shares of.
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

// noise draws differences of the means of b and a, around the one that they have.
func (s *sampler) noise(a, b []float64) func() float64 {
	a, b = centred(a), centred(b)
	return func() float64 { return s.drawn(b) - s.drawn(a) }
}

// centred are the numbers around their mean. Few numbers vary less than what they are of, which is made up
// for.
func centred(list []float64) []float64 {
	m, n := mean(list), float64(len(list))
	return bent(list, func(v float64) float64 { return (v - m) * math.Sqrt(n/(n-1)) })
}

// drawn is the mean of a bootstrap sample: as many numbers as these, drawn in runs of neighbours.
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

// welch is Student's t of two sets with variances of their own.
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

// ranks is the probability of the ranks that the numbers have among each other (Mann and Whitney's U): a few
// intervals that are unlike the others, as when a program starts, do not move them. If the means moved the
// other way, the ranks tell nothing.
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
	// U is na*nb*shift/n above its mean; half of one rank is lost, since ranks are whole numbers.
	u := max(0, na*nb*math.Abs(shift)/n-0.5)
	variance := na * nb / 12 * (n + 1 - ties/(n*(n-1))) * inertia(middle(ra), middle(rb))
	if variance <= 0 {
		return 1
	}
	return math.Erfc(u / math.Sqrt(2*variance))
}

// mostShifts bounds how many pairs of numbers are looked at.
const mostShifts = 1 << 18

// shifts bounds how far b is shifted from a, as a share of a, by the differences of all pairs (Hodges and
// Lehmann).
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

// middle has what is beyond the quartiles brought to these: a program that starts is unlike itself for a
// while, which says nothing about its other intervals.
func middle(list []float64) []float64 {
	order := slices.Clone(list)
	slices.Sort(order)
	least, greatest := order[len(order)/4], order[len(order)-1-len(order)/4]
	return bent(list, func(v float64) float64 { return min(max(v, least), greatest) })
}

// inertia is how much more the mean of neighbouring numbers varies than that of as many independent ones,
// if each resembles the one before by their autocorrelation; 1 if they do not.
func inertia(lists ...[]float64) float64 {
	const most = 0.8 // few numbers tell no more than that it is large
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
	// Numbers around their own mean seem to swing: by 1/n of each list.
	r := min(most, product/square+float64(len(lists))/n)
	return (1 + max(0, r)) / (1 - max(0, r))
}

// student is the probability of a difference with such a variance.
func student(difference, variance, freedom float64) float64 {
	// What differs by no more than what computing with floating point adds is the same.
	if difference == 0 || variance < 1e-24*difference*difference {
		if difference == 0 {
			return 1
		}
		return 0
	}
	return chance.Student(difference/math.Sqrt(variance), freedom)
}

// another is whether one more number is of the same kind as those of a list, from the list's own spread.
func another(list []float64, one float64) verdict {
	v := unjudged()
	n := float64(len(list))
	if len(slices.DeleteFunc(slices.Clone(list), func(x float64) bool { return x == 0 })) < chance.Least {
		return v // their spread says little
	}
	bend := bending(list, []float64{one})
	for _, f := range []func(float64) float64{func(x float64) float64 { return x }, bend} {
		m, s := moments(bent(list, f))
		v.p = max(orZero(v.p), student(f(one)-m, s*(1+1/n), n-1))
	}
	all := bent(list, bend)
	least, greatest := slices.Min(all), slices.Max(all)
	if beyond := greatest - least; bend(one) >= least-beyond && bend(one) <= greatest+beyond {
		v.p = 1 // a tail that is longer than it looks
	}
	return v
}

// bending is what brings a long tail in: the logarithm, or, of numbers with zeros, the root; nothing where
// some are negative.
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

// batches are the means of k neighbours each. The first numbers, which do not fill one, are left out.
func batches(list []float64, k int) []float64 {
	out := make([]float64, 0, len(list)/k)
	for list = list[len(list)%k:]; len(list) > 0; list = list[k:] {
		out = append(out, mean(list[:k]))
	}
	return out
}

// moments are the mean and the variance of which the numbers are a sample.
func moments(list []float64) (m, variance float64) {
	m = mean(list)
	for _, v := range list {
		variance += (v - m) * (v - m)
	}
	return m, variance / float64(len(list)-1)
}

func present(list []float64) []float64 { return slices.DeleteFunc(slices.Clone(list), math.IsNaN) }
