package why_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/why"
)

// TestNonsense explains events that no machine makes, in any order: the parts of spans add
// up, whatever they say.
func TestNonsense(t *testing.T) {
	names := slices.Sorted(maps.Keys(declared))
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		pick := func(of ...int) int { return of[r.IntN(len(of))] }
		var evs []*event.Event
		now := event.Time(1000)
		for range 1500 {
			now += event.Time(r.IntN(500) - 20)
			cpu, tid := int32(pick(-1, 0, 0, 1, 1, 2, 9000)), int32(pick(-1, 0, 1, 2, 3, 4))
			if r.IntN(100) == 0 {
				e := &event.Event{Kind: event.Lost, Time: now, CPU: cpu, Count: 3}
				if r.IntN(2) == 0 {
					e.Derived = event.Between(now-event.Time(r.IntN(1000)), now+event.Time(r.IntN(1000)))
				}
				evs = append(evs, e)
				continue
			}
			name := names[r.IntN(len(names))]
			e := occur(name, now, cpu, tid, tid)
			for i := 8; i < len(e.Raw); i += 8 {
				e.Raw[i] = byte(r.IntN(5))
			}
			e.Raw[0] = byte(pick(0, 0, 1, 8, 16, 255))
			if r.IntN(50) == 0 {
				e.Raw = e.Raw[:r.IntN(len(e.Raw))]
			}
			evs = append(evs, e)
		}
		x := why.New(why.Config{Records: 1024, Depth: 1 + r.IntN(9), Parts: 300})
		for range 10 {
			from := event.Time(r.Int64N(int64(now)))
			span := why.Span{From: from, To: from + event.Time(r.IntN(100_000)), TID: int32(r.IntN(6)) - 1}
			var gaps []why.Gap
			for range r.IntN(3) {
				at := event.Time(r.Int64N(int64(now)))
				to := at + event.Time(r.IntN(9000))
				gaps = append(gaps, why.Gap{CPU: int32(r.IntN(4) - 1), From: at, To: to})
			}
			since := event.Time(r.Int64N(int64(now)) * int64(r.IntN(2)))
			whole(t, x.Explain(span, why.History{Events: slices.Values(evs), Gaps: gaps, Since: since}))
			whole(t, x.ExplainAdded(why.Span{From: -5, To: event.MaxTime, TID: 1}))
		}
	}
}
