package result

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/stack"
)

// anyWhy is a result of some machine: numbers of stacks mean something else on each of them.
func anyWhy(r *rand.Rand) *Why {
	names := []string{"db", "worker", "cc1"}
	task := func() WhyTask { return WhyTask{Comm: names[r.IntN(len(names))]} }
	w := &Why{Name: "why", Stacks: map[stack.ID]CallStack{}}
	w.Meta.Begin, w.Meta.End = event.Time(r.IntN(100)), event.Time(100+r.IntN(100))
	w.Meta.Samples = uint64(r.IntN(9))
	w.Meta.Loss.Lost, w.Skipped = uint64(r.IntN(3)), uint64(r.IntN(3))
	for i := range 1 + r.IntN(3) {
		w.Stacks[stack.ID(i+1)] = StackOf(&Frame{Symbol: fmt.Sprint("f", r.IntN(4))})
	}
	seen := map[string]bool{}
	for range r.IntN(6) {
		c := WhyCause{Slow: WhySpans{1, int64(r.IntN(1000))}, Normal: WhySpans{2, int64(r.IntN(1000))}}
		for range 1 + r.IntN(2) {
			c.Path = append(c.Path, WhyLink{Task: task(), Kind: WhyKind(r.IntN(4)), Whom: task(),
				Foreign: r.IntN(2) == 0})
		}
		if key := fmt.Sprint(c.Path); !seen[key] {
			seen[key] = true
			w.Causes = append(w.Causes, c)
			w.Slow.add(c.Slow)
			w.Normal.add(c.Normal)
		}
	}
	for range r.IntN(4) {
		from := event.Time(r.IntN(1000))
		s := &WhySpan{Task: task(), From: from, To: from + event.Time(r.IntN(50))}
		link := WhyLink{Task: s.Task, Kind: WhyBlocked, Stack: stack.ID(1 + r.IntN(len(w.Stacks)))}
		s.Parts = []WhyPart{{From: s.From, To: s.To, Path: []WhyLink{link}}}
		// What tells equal spans apart, so that the order of the slowest is one.
		s.Key = w.Stacks[link.Stack].Frames[0].Symbol
		w.Slowest = append(w.Slowest, s)
	}
	if r.IntN(2) == 0 {
		w.Notes = []string{fmt.Sprint("note ", r.IntN(3))}
	}
	return w
}

// readable is a result with the stacks in the place of their numbers.
func readable(w *Why) []any {
	var slowest []string
	for _, s := range w.Slowest {
		l := s.Parts[0].Path[0]
		f := w.Stacks[l.Stack].Frames[0]
		slowest = append(slowest, fmt.Sprint(s.NS(), s.From, s.Task, s.Key, f.Symbol))
	}
	return []any{w.Meta, w.Slow, w.Normal, w.Doubtful, w.Causes, slowest, w.Skipped, w.Notes}
}

// Whichever results are merged first, the whole is the same, and nothing is lost of the sums.
func TestWhyMergesInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		most := r.IntN(4)
		parts := []*Why{anyWhy(r), anyWhy(r), anyWhy(r)}
		merged := func(order ...*Why) *Why {
			w := &Why{Name: "why"}
			for _, o := range order {
				w.Merge(o, most)
			}
			return w
		}
		a, b, c := parts[0], parts[1], parts[2]
		left := merged(a, b, c)
		if got, want := readable(merged(c, a, b)), readable(left); !reflect.DeepEqual(got, want) {
			t.Fatalf("c a b: got\n%v\nwant\n%v", got, want)
		}
		if got, want := readable(merged(a, merged(c, b))), readable(left); !reflect.DeepEqual(got, want) {
			t.Fatalf("a (c b): got\n%v\nwant\n%v", got, want)
		}
		sum := int64(0)
		for _, c := range left.Causes {
			sum += c.Slow.NS
		}
		if want := a.Slow.NS + b.Slow.NS + c.Slow.NS; sum != want || left.Slow.NS != want {
			t.Fatalf("slow spans: causes are %d ns, spans %d, want %d", sum, left.Slow.NS, want)
		}
		if want := len(a.Slowest) + len(b.Slowest) + len(c.Slowest); most == 0 && len(left.Slowest) != want {
			t.Fatalf("got %d spans, want %d", len(left.Slowest), want)
		}
		for _, s := range left.Slowest {
			if got := left.Stacks[s.Parts[0].Path[0].Stack].Frames[0].Symbol; got != s.Key {
				t.Fatalf("stack of a span: got %s, want %s", got, s.Key)
			}
		}
	}
}
