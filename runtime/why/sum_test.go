package why_test

import (
	"reflect"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// toldSpans explains many spans of a random machine.
func toldSpans(seed uint64) []*result.WhySpan {
	s := newSim(seed, 3, 8)
	for range 3000 {
		s.step()
	}
	x := why.New(why.Config{})
	for _, e := range s.evs {
		x.Add(e)
	}
	var spans []*result.WhySpan
	for i := range 200 {
		t := s.threads[i%len(s.threads)]
		from := event.Time(s.Int64N(int64(s.now)))
		spans = append(spans, x.ExplainAdded(why.Span{
			From: from, To: from + event.Time(1+s.IntN(100_000)), TID: t.tid, PID: t.pid,
		}))
	}
	return spans
}

func TestSum(t *testing.T) {
	spans := toldSpans(5)
	var all why.Sum
	ns := int64(0)
	for i, s := range spans {
		all.Add(s, i%3 > 0)
		if i%3 > 0 {
			ns += s.NS()
		}
	}
	r := all.Result("why")
	var slow, normal int64
	for i := range r.Causes {
		slow += r.Causes[i].Slow.NS
		normal += r.Causes[i].Normal.NS
		for _, l := range r.Causes[i].Path {
			if l.Task.TID != 0 || l.Whom.TID != 0 || l.Stack != 0 {
				t.Fatalf("got %v, want no numbers", l)
			}
		}
	}
	if slow != r.Slow.NS || normal != r.Normal.NS || slow != ns {
		t.Errorf("causes: got %d and %d ns, want %d and %d", slow, normal, r.Slow.NS, r.Normal.NS)
	}
	if len(r.Slowest) != 10 || !slices.IsSortedFunc(r.Slowest, func(a, b *result.WhySpan) int {
		return int(b.NS() - a.NS())
	}) {
		t.Errorf("got %d slowest spans, want 10, the slowest first", len(r.Slowest))
	}

	// Parts that are added on their own come to the same, in any order.
	parts := make([]why.Sum, 4)
	for i, s := range slices.Backward(spans) {
		parts[i%4].Add(s, i%3 > 0)
	}
	for i := range parts[1:] {
		parts[0].Merge(&parts[i+1])
	}
	if got := parts[0].Result("why"); !reflect.DeepEqual(got, r) {
		t.Errorf("merged: got %v and %v, want %v and %v", got.Slow, got.Normal, r.Slow, r.Normal)
	}
	all.Reset()
	if got := all.Result("why"); got.Slow.Spans != 0 || len(got.Causes) != 0 || len(got.Slowest) != 0 {
		t.Errorf("after Reset: got %v", got)
	}
}

// TestMergingIsAssociative checks that results come to the same however they are put together:
// (a+b)+c is a+(b+c), and c+b+a.
func TestMergingIsAssociative(t *testing.T) {
	parts := make([]why.Sum, 3)
	for i, s := range toldSpans(8) {
		parts[i%3].Add(s, i%4 > 0)
	}
	var list []*result.Why
	for i := range parts {
		list = append(list, parts[i].Result("why"))
	}
	merged := func(all ...*result.Why) *result.Why {
		var s why.Sum
		for _, r := range all {
			s.MergeResult(r)
		}
		return s.Result("why")
	}
	a, b, c := list[0], list[1], list[2]
	want := merged(merged(a, b), c)
	if want.Slow.Spans == 0 || want.Normal.Spans == 0 || len(want.Slowest) == 0 {
		t.Fatalf("got nothing to merge: %+v", want)
	}
	for i, got := range []*result.Why{merged(a, merged(b, c)), merged(c, b, a), merged(a, b, c)} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d: got %v and %v in %d causes, want %v and %v in %d", i, got.Slow, got.Normal,
				len(got.Causes), want.Slow, want.Normal, len(want.Causes))
		}
	}
}

// A Sum with more causes than it may keep still adds up.
func TestSumIsBounded(t *testing.T) {
	s := why.Sum{MaxCauses: 10, Slowest: -1}
	for _, span := range toldSpans(6) {
		s.Add(span, true)
	}
	r := s.Result("")
	ns := int64(0)
	for i := range r.Causes {
		ns += r.Causes[i].Slow.NS
	}
	if ns != r.Slow.NS || len(r.Slowest) != 0 {
		t.Errorf("got %d ns and %d spans, want %d and none", ns, len(r.Slowest), r.Slow.NS)
	}
	if len(r.Causes) > 40 {
		t.Errorf("got %d causes, want few", len(r.Causes))
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	s, _ := busy(5000)
	x := why.New(why.Config{Stacks: true})
	add := func() {
		x.Reset(0)
		for _, e := range s.evs {
			x.Add(e)
		}
	}
	add()
	if n := testing.AllocsPerRun(5, add); n != 0 {
		t.Errorf("got %v allocations for %d events, want 0", n, len(s.evs))
	}
}

// TestOldEventsAreForgotten adds events for long: spans are told as with a history of their
// own, or less exactly, since that one is longer.
func TestOldEventsAreForgotten(t *testing.T) {
	s := newSim(9, 3, 8)
	h := s.story()
	x := why.New(why.Config{Task: h.config().Task, Records: 1024})
	spans, known := 0, 0
	for len(s.evs) < 6000 {
		n := len(s.evs)
		s.step()
		for _, e := range s.evs[n:] {
			x.Add(e)
		}
		if len(s.evs) < 2000 || s.IntN(40) > 0 {
			continue
		}
		th := s.threads[s.IntN(len(s.threads))]
		span := why.Span{From: s.now - 100_000, To: s.now, TID: th.tid, PID: th.pid}
		h.evs = s.evs
		full := why.New(why.Config{Task: h.config().Task}).Explain(span, why.History{Events: h.events()})
		got := x.ExplainAdded(span)
		whole(t, got)
		for i, k := 0, 0; i < len(full.Parts) && k < len(got.Parts); {
			f, l := &full.Parts[i], &got.Parts[k]
			if !lessExact(f.Path, l.Path) {
				t.Fatalf("%s at %d\nall    %v\nrecent %v\n%s", th.name, max(f.From, l.From), f.Path, l.Path,
					historyOf(s.evs, max(f.From, l.From)-20000, l.To+20000))
			}
			spans++
			if l.Cause().Kind != result.WhyUnknown {
				known++
			}
			if f.To <= l.To {
				i++
			}
			if l.To <= f.To {
				k++
			}
		}
	}
	if spans < 100 || known*2 < spans {
		t.Errorf("%d of %d are known", known, spans)
	}
}
