package why_test

import (
	"slices"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// lose takes the events of a gap away.
func lose(evs []*event.Event, g why.Gap) []*event.Event {
	return slices.DeleteFunc(slices.Clone(evs), func(e *event.Event) bool {
		return (g.CPU < 0 || e.CPU == g.CPU) && e.Time > g.From && e.Time < g.To
	})
}

// TestLossesMakeNothingWrong takes events away: each time has the cause that it had, or a
// less exact one.
func TestLossesMakeNothingWrong(t *testing.T) {
	known, all := int64(0), int64(0)
	for seed := range uint64(60) {
		s := newSim(seed+1000, 1+int(seed%4), 3+int(seed%6))
		for range 1200 {
			s.step()
		}
		h := s.story()
		x := why.New(h.config())
		var gaps []why.Gap
		evs := s.evs
		for range 1 + s.IntN(4) {
			from := event.Time(s.Int64N(int64(s.now)))
			to := from + event.Time(s.IntN(100_000))
			g := why.Gap{CPU: int32(s.IntN(len(s.cpus)+1) - 1), From: from, To: to}
			gaps = append(gaps, g)
			evs = lose(evs, g)
		}
		since := event.Time(0)
		if s.IntN(2) == 0 {
			since = s.now / 4
			evs = slices.DeleteFunc(slices.Clone(evs), func(e *event.Event) bool { return e.Time < since })
		}
		for _, th := range s.threads {
			span := why.Span{From: s.now / 3, To: s.now, TID: th.tid, PID: th.pid}
			full := x.Explain(span, why.History{Events: h.events()})
			lossy := x.Explain(span, why.History{Events: slices.Values(evs), Gaps: gaps, Since: since})
			whole(t, full)
			whole(t, lossy)
			for i, k := 0, 0; i < len(full.Parts) && k < len(lossy.Parts); {
				f, l := &full.Parts[i], &lossy.Parts[k]
				if n := int64(min(f.To, l.To) - max(f.From, l.From)); !lessExact(f.Path, l.Path) {
					from, to := max(f.From, l.From), min(f.To, l.To)
					t.Fatalf("seed %d, %s, lost %v since %d: at %d to %d\nfull  %v\nlossy %v\n%s",
						seed, th.name, gaps, since, from, to, f.Path, l.Path,
						historyOf(s.evs, from-20000, to+20000))
				} else {
					all += n
					if l.Cause().Kind != result.WhyUnknown {
						known += n
					}
				}
				if f.To <= l.To {
					i++
				}
				if l.To <= f.To {
					k++
				}
			}
		}
	}
	t.Logf("%.0f %% of the time is still known", 100*float64(known)/float64(all))
	if known*5 < all {
		t.Error("nearly everything is unknown")
	}
}

// lessExact reports that a path is another, or what is left of it when less is known.
func lessExact(full, lossy []result.WhyLink) bool {
	for i := range lossy {
		l := &lossy[i]
		if i >= len(full) {
			return false
		}
		f := &full[i]
		if l.Task != f.Task {
			return false
		}
		switch {
		case l.Kind == result.WhyUnknown:
			return true
		case l.Kind == result.WhyCPU:
			return f.Kind == result.WhyUser || f.Kind == result.WhySyscall || f.Kind == result.WhyFault ||
				f.Kind == result.WhyLock || f.Kind == result.WhyCPU
		case l.Kind == result.WhyThread && (f.Kind == result.WhyFutex || f.Kind == result.WhyLock):
			// what it was doing is not known any more
		case l.Kind == result.WhyFutex && strings.HasPrefix(f.What, "futex 0x"):
			// Here threads wake others by futexes that those do not wait for.
		case l.Kind == result.WhyBlocked && l.What == "" && (f.Kind == result.WhyFutex ||
			f.Kind == result.WhyLock || f.Kind == result.WhyTimer):
		case l.Kind != f.Kind:
			return false
		}
		if l.Whom != f.Whom {
			return false
		}
	}
	return len(lossy) == len(full)
}

// TestPartsAreBounded explains with few parts what has many: causes add up to the same.
func TestPartsAreBounded(t *testing.T) {
	s, spans := busy(20_000)
	h := why.History{Events: slices.Values(s.evs)}
	long := 0
	for _, span := range spans {
		var many, few why.Sum
		all := why.New(why.Config{}).Explain(span, h)
		some := why.New(why.Config{Parts: 200}).Explain(span, h)
		whole(t, some)
		if len(all.Parts) < 200 {
			continue
		}
		long++
		if len(some.Parts) > 200 || !some.Merged && some.Doubt == "" {
			t.Fatalf("got %d parts (%s) of %d", len(some.Parts), some.Doubt, len(all.Parts))
		}
		many.Add(all, true)
		few.Add(some, true)
		want, got := many.Result("").Causes, few.Result("").Causes
		if !slices.EqualFunc(got, want, func(a, b result.WhyCause) bool {
			return a.Slow == b.Slow && slices.Equal(a.Path, b.Path)
		}) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if long == 0 {
		t.Error("no span has many parts")
	}
}
