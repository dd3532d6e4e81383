package agg

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"ppscript/runtime/event"
)

func TestBucketBoundsAreBuckets(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 100000 {
		v := r.Uint64() >> r.Intn(64)
		lo, hi := bucketBounds(Bucket(v))
		if v < lo || v > hi {
			t.Fatalf("bucket of %d: got bounds %d..%d", v, lo, hi)
		}
		if Bucket(lo) != Bucket(v) || Bucket(hi) != Bucket(v) {
			t.Fatalf("bounds %d..%d of %d lie in other buckets", lo, hi, v)
		}
	}
}

func TestQuantileError(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for name, next := range map[string]func() int64{
		"uniform":   func() int64 { return r.Int63n(1e6) },
		"log":       func() int64 { return int64(math.Exp(r.Float64() * 40)) },
		"two modes": func() int64 { return []int64{1000, 5000000}[r.Intn(2)] + r.Int63n(100) },
		"signed":    func() int64 { return r.Int63n(2e6) - 1e6 },
	} {
		for _, n := range []int{1, 2, 64, 65, 100, 10000} {
			var s Sketch
			var all []int64
			for range n {
				v := next()
				all = append(all, v)
				s.Add(event.IntNumber(v))
			}
			slices.Sort(all)
			for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
				want := all[min(max(int(math.Ceil(q*float64(n))), 1), n)-1]
				got := s.Quantile(q).Int()
				if diff := math.Abs(float64(got - want)); n <= ExactValues && diff != 0 ||
					diff > math.Abs(float64(want))/128+1 {
					t.Errorf("%s n=%d q=%v: got %d, want %d", name, n, q, got, want)
				}
			}
		}
	}
}

func TestMergeEqualsAdd(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	for _, sizes := range [][]int{{10, 20}, {10, 1000}, {1000, 10}, {500, 700}} {
		var parts [2]Sketch
		var whole Sketch
		for i, n := range sizes {
			for range n {
				v := r.Int63n(1e9) - 1e5
				parts[i].Add(event.IntNumber(v))
				whole.Add(event.IntNumber(v))
			}
		}
		parts[0].Merge(&parts[1])
		for _, q := range []float64{0, 0.5, 0.99, 1} {
			if got, want := parts[0].Quantile(q).Int(), whole.Quantile(q).Int(); got != want {
				t.Errorf("sizes %v q=%v: got %d, want %d", sizes, q, got, want)
			}
		}
	}
}

func TestSketchSteadyStateDoesNotAllocate(t *testing.T) {
	var s Sketch
	fill := func() {
		for v := range int64(5000) {
			s.Add(event.IntNumber(v * 997))
		}
		s.Reset()
	}
	fill()
	if n := testing.AllocsPerRun(10, fill); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
