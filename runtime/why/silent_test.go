package why_test

import (
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// TestEventsNotSeen takes single events away without saying so, as kernels do: each time has the cause
// that it had, or a less exact one.
func TestEventsNotSeen(t *testing.T) {
	unknown, all := int64(0), int64(0)
	for seed := range uint64(400) {
		s := newSim(seed+5000, 1+int(seed%3), 3+int(seed%4))
		for range 700 {
			s.step()
		}
		if !s.allCall(s.evs[:len(s.evs)/4]) || !s.allCall(s.evs[len(s.evs)*3/4:]) {
			continue // before a thread's first event, and after its last one, nothing contradicts
		}
		h := s.story()
		x := why.New(h.config())
		span := func(th *simThread) why.Span {
			// What comes behind tells that an event is missing.
			return why.Span{From: s.now / 4, To: s.now * 5 / 8, TID: th.tid, PID: th.pid}
		}
		var full []*result.WhySpan
		for _, th := range s.threads {
			full = append(full, x.Explain(span(th), why.History{Events: h.events()}))
		}
		for range 12 {
			n := len(s.evs)/4 + s.IntN(len(s.evs)*3/8)
			left := slices.Delete(slices.Clone(s.evs), n, n+1)
			for i, th := range s.threads {
				got := x.Explain(span(th), why.History{Events: slices.Values(left)})
				whole(t, got)
				all += got.NS()
				unknown += unknownOf(got)
				if from, to, ok := differ(full[i], got); !ok {
					e := s.evs[n]
					t.Fatalf("seed %d, %s, without %s of %d at %d: at %d to %d\nfull %s\nless %s\n%s", seed,
						th.name, e.Stream.Label, e.TID, e.Time, from, to, partAt(full[i], from),
						partAt(got, from), historyOf(s.evs, from-20000, to+20000))
				}
			}
		}
	}
	t.Logf("%.1f %% of the time is unknown", 100*float64(unknown)/float64(all))
	if unknown == 0 || unknown*10 > all {
		t.Errorf("got %d ns of %d that are unknown", unknown, all)
	}
}

// allCall reports that each thread has a system call among events.
func (s *sim) allCall(evs []*event.Event) bool {
	return !slices.ContainsFunc(s.threads, func(th *simThread) bool {
		return !slices.ContainsFunc(evs, func(e *event.Event) bool {
			return e.TID == th.tid && e.Stream.Schema.System == "raw_syscalls"
		})
	})
}

func unknownOf(s *result.WhySpan) (ns int64) {
	for i := range s.Parts {
		if s.Parts[i].Cause().Kind == result.WhyUnknown {
			ns += s.Parts[i].NS()
		}
	}
	return ns
}

// differ finds the first time of which a breakdown tells something else than the full one, and not less.
func differ(full, less *result.WhySpan) (from, to event.Time, ok bool) {
	for i, k := 0, 0; i < len(full.Parts) && k < len(less.Parts); {
		f, l := &full.Parts[i], &less.Parts[k]
		if from, to = max(f.From, l.From), min(f.To, l.To); from < to && !lessExact(f.Path, l.Path) {
			return from, to, false
		}
		if f.To <= l.To {
			i++
		}
		if l.To <= f.To {
			k++
		}
	}
	return 0, 0, true
}

func partAt(s *result.WhySpan, at event.Time) string {
	for i := range s.Parts {
		if p := &s.Parts[i]; p.From <= at && at < p.To {
			return partsText(&result.WhySpan{Parts: []result.WhyPart{*p}})
		}
	}
	return "nothing"
}
