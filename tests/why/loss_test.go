package why

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"testing"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/why"
)

// less reports whether path a is path b with less knowledge: equal up to a link that is unknown, or
// less specific.
func less(a, b *result.WhyPart) bool {
	if b.Cause().Kind == result.WhyUnknown {
		return true
	}
	for i, l := range a.Path {
		if l.Kind == result.WhyUnknown {
			return true
		}
		if i >= len(b.Path) {
			return false
		}
		o := b.Path[i]
		vague := l.Kind == result.WhyBlocked && o.Kind > result.WhyIdle || // not what it waited for
			l.Kind == result.WhyThread && o.Whom == l.Whom && o.Kind > result.WhyIdle || // only the thread
			l.Kind == result.WhyDisk && l.Kind == o.Kind && l.What == requestNotSeen ||
			l.Kind == result.WhyCPU && (o.Kind < result.WhyIRQ || // nor where
				o.Kind == result.WhyLock && o.Whom.TID == 0)
		if l.Task.TID != o.Task.TID || l.Kind != o.Kind && !vague {
			return false
		}
		if vague {
			continue
		}
		if l.Kind == o.Kind && (!fewer(l.What, o.What) || l.Whom.TID != 0 && l.Whom.TID != o.Whom.TID) {
			return false
		}
	}
	return true
}

// requestNotSeen is the text for a disk request that ended without a known begin.
const requestNotSeen = "a request that was not seen"

// fewer reports whether all words of a are in b.
func fewer(a, b string) bool {
	words := strings.FieldsFunc(b, isSpace)
	for _, w := range strings.FieldsFunc(a, isSpace) {
		if w != "lock" && !slices.Contains(words, w) { // a spinlock is one
			return false
		}
	}
	return true
}

func isSpace(r rune) bool { return r == ' ' || r == ',' }

// otherwise returns the places where a breakdown with losses is wrong, not just less
// specific than the one without.
func otherwise(whole, got *result.WhySpan) (wrong []string, ns int64) {
	i, j := 0, 0
	for i < len(whole.Parts) && j < len(got.Parts) {
		a, b := &whole.Parts[i], &got.Parts[j]
		from, to := max(a.From, b.From), min(a.To, b.To)
		if from < to && !less(b, a) && !isEdgeOfFault(whole, got, a, b) {
			wrong = append(wrong, fmt.Sprintf("%d ns at %d: got %+v, want %+v", to-from, from-whole.From,
				b.Path, a.Path))
			ns += int64(to - from)
		}
		if a.To <= b.To {
			i++
		}
		if b.To <= a.To {
			j++
		}
	}
	return wrong, ns
}

// faultEdge is the farthest that the estimated end of a page fault may move if some of the faults
// from which it is estimated are missing.
const faultEdge = 2e3

// isEdgeOfFault reports whether two parts differ only by the estimated begin or end of a page
// fault.
func isEdgeOfFault(whole, got *result.WhySpan, a, b *result.WhyPart) bool {
	if !strings.Contains(whole.Doubt+got.Doubt, "an estimate") || len(a.Path) != 1 || len(b.Path) != 1 {
		return false
	}
	kinds := []string{a.Path[0].Kind.String(), b.Path[0].Kind.String()}
	slices.Sort(kinds)
	return slices.Equal(kinds, []string{"page fault", "user code"}) &&
		min(a.To, b.To)-max(a.From, b.From) <= faultEdge
}

// lose removes the events of a CPU in a period of time.
func lose(events []event.Event, g why.Gap) (left []event.Event) {
	for i := range events {
		e := &events[i]
		mark := ""
		if e.Kind == event.Sample {
			mark = e.Stream.Schema.Name
		}
		if mark == beginMark || mark == endMark || e.CPU != g.CPU || e.Time < g.From || e.Time >= g.To {
			left = append(left, *e)
		}
	}
	return left
}

// withoutOne removes one event near a span, without a record of the loss, and returns its name.
func withoutOne(events []event.Event, s why.Span, r *rand.Rand) (left []event.Event, without string) {
	first := sort.Search(len(events), func(i int) bool { return events[i].Time >= s.From-3e6 })
	for {
		i := first + r.IntN(len(events)-first)
		e := &events[i]
		if e.Kind != event.Sample || e.Stream.Schema.Name == beginMark || e.Stream.Schema.Name == endMark {
			continue
		}
		return append(slices.Clone(events[:i]), events[i+1:]...),
			fmt.Sprintf("%s of %d at %d", e.Stream.Schema.FullName(), e.TID, e.Time-s.From)
	}
}

// checkLosses removes events from a recording: a single one without a record of the loss, or those
// of a CPU in a reported period. The causes are then the same as with the whole recording, or
// unknown.
func checkLosses(t *testing.T, events []event.Event) {
	t.Helper()
	whole := explain(events)
	r := rand.New(rand.NewPCG(1, 2))
	touched := 0
	for tid, s := range spansOf(events) {
		around := around(events, s)
		for range 5 {
			left, without := withoutOne(around, s, r)
			got := tell(s, left)
			for _, w := range checkSum(got) {
				t.Error(w)
			}
			if wrong, ns := otherwise(whole[tid], got); ns > 0 {
				t.Errorf("%s without %s: %d ns are wrong\n%s", got.Task.Comm, without, ns, wrong[0])
			}
		}
		for range 6 {
			at := s.From - 2e6 + event.Time(r.Int64N(int64(s.To-s.From)+2e6))
			g := why.Gap{CPU: r.Int32N(2), From: at, To: at + event.Time(r.Int64N(3e6))}
			got := tell(s, lose(around, g), g)
			for _, w := range checkSum(got) {
				t.Error(w)
			}
			if wrong, ns := otherwise(whole[tid], got); ns > 0 {
				t.Errorf("%s without CPU %d from %d to %d: %d ns are wrong\n%s\n%s", got.Task.Comm, g.CPU,
					g.From-s.From, g.To-s.From, ns, wrong[0], got.Doubt)
			}
			if got.Doubt != whole[tid].Doubt || unknown(got) > unknown(whole[tid]) {
				touched++
			}
		}
	}
	if touched == 0 {
		t.Error("no loss made anything unknown")
	}
}

// around returns the events from shortly before a span on.
func around(events []event.Event, s why.Span) []event.Event {
	const before = 30e6
	at := func(at event.Time) int {
		return sort.Search(len(events), func(i int) bool { return events[i].Time >= at })
	}
	return events[at(s.From-before):at(s.To+before)]
}

func tell(s why.Span, events []event.Event, gaps ...why.Gap) *result.WhySpan {
	return why.New(why.Config{}).Explain(s, why.History{
		Events: func(yield func(*event.Event) bool) {
			for i := range events {
				if !yield(&events[i]) {
					return
				}
			}
		},
		Since: events[0].Time,
		Gaps:  gaps,
	})
}
