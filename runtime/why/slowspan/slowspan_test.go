package slowspan

import (
	"slices"
	"testing"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/result"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/why"
)

// What is longer than a bound is slow; what is as long is not.
func TestThanIsABound(t *testing.T) {
	c := &Choice{Than: 1000}
	var s slowness
	for ns, want := range map[int64]bool{999: false, 1000: false, 1001: true} {
		if got := s.judge(ns, c, nil).kind; got == slow != want || got == normal == want {
			t.Errorf("%d ns: got %v, want slow to be %v", ns, got, want)
		}
	}
}

// Of spans of all lengths, in any order, the share that is asked for is slow, and these are
// the longest.
func TestSlowestAreAShare(t *testing.T) {
	c := &Choice{Slowest: 0.01}
	var s slowness
	const spans = 100_000
	long, wrong := 0, 0
	for i := range int64(spans) {
		ns := 1 + i*7919%spans // each length once
		if s.judge(ns, c, &Story{}).kind != slow {
			continue
		}
		long++
		if ns < spans*95/100 {
			wrong++
		}
		if i < atFirst {
			t.Fatalf("span %d is slow before %d told what is long", i, atFirst)
		}
	}
	if long < spans/200 || long > spans/50 || wrong > 10 {
		t.Errorf("got %d slow spans of %d, %d of them short; want about 1%%", long, spans, wrong)
	}
}

// The longest of the first spans, which only tell what is long, is not called normal, and neither are those
// that are as long later.
func TestTheLongestIsNotNormal(t *testing.T) {
	c := &Choice{Slowest: 0.01, Compare: true}
	var s slowness
	for i := range 3 * atFirst {
		ns := int64(1000 + i%50)
		if i == 5 || i == 2*atFirst {
			ns = 1e9
		}
		got := s.judge(ns, c, &Story{}).kind
		if ns == 1e9 && got == normal || i < atFirst && (got == slow || got == normal) {
			t.Errorf("span %d of %d ns: got %v", i, ns, got)
		}
		if i == 2*atFirst+1 && got != normal {
			t.Errorf("span %d of %d ns: got %v, want normal", i, ns, got)
		}
	}
}

// The longest of a few spans are told at the end, as many as the share makes of them and one at least,
// whether their history comes early or late.
func TestFewSpansAreAnswered(t *testing.T) {
	list := [][2]int64{{100, 200}, {50, 700}, {800, 100}, {1990, 500}}
	f := func(c Choice, want ...int64) {
		t.Helper()
		for _, early := range []bool{false, true} {
			r := feed(&Spans{Choice: c}, early, list)
			var got []int64
			for _, s := range r.Slowest {
				got = append(got, s.NS())
			}
			if !slices.Equal(got, want) || r.Slow.Spans != uint64(len(want)) {
				t.Errorf("%+v: got %d spans, %v told, want %v", c, r.Slow.Spans, got, want)
			}
			if len(want) == 0 != (len(r.Notes) == 1) {
				t.Errorf("%+v: got %d spans and notes %q", c, len(want), r.Notes)
			}
		}
	}
	f(Choice{Slowest: 0.01}, 700)
	f(Choice{Slowest: 0.25}, 700)
	f(Choice{Slowest: 0.5}, 700, 500)
	f(Choice{Slowest: 0.5, Than: 600}, 700)
	f(Choice{Slowest: 0.5, Than: 1000})
	f(Choice{Than: 1000})
}

// Of more spans than the first the longest of the first are among those that are told.
func TestTheLongestOfTheFirstIsTold(t *testing.T) {
	story, c := &Story{}, &Choice{Slowest: 0.01}
	var s slowness
	for i := range int64(atFirst + 1) {
		ns := 1000 + i
		if i == 5 {
			ns = 1e9
		}
		if v := s.judge(ns, c, story); v.kind == among {
			story.add(&result.WhySpan{To: event.Time(ns)}, v)
		}
	}
	if w := story.Result(result.Meta{}); w.Slow.Spans != 1 || w.Slow.NS != 1e9 {
		t.Errorf("got %d slow spans of %d ns, want that of 1e9", w.Slow.Spans, w.Slow.NS)
	}
}

// A live run that explains for too long waits; recordings have no bound.
func TestBudget(t *testing.T) {
	live := &Story{Live: true}
	if !live.withinBudget() {
		t.Error("got nothing allowed at the begin")
	}
	live.spent = time.Hour
	if live.withinBudget() {
		t.Error("got more than the budget allowed")
	}
	if s := (&Story{spent: time.Hour}); !s.withinBudget() {
		t.Error("got a bound for a recording")
	}
}

// TestWindowsAreAllTheTime checks that windows follow each other without a gap, the last one as
// long as the run was.
func TestWindowsAreAllTheTime(t *testing.T) {
	story := &Story{}
	w := NewWindows(story, 7, 1000, Losses{End: func(int32) event.Time { return 0 }})
	for at := event.Time(500); at <= 4200; at += 100 {
		w.Events([]*event.Event{{Kind: event.Sample, Time: at}})
	}
	w.Rest()
	r := story.Result(result.Meta{Name: "why"})
	if r.Slow.Spans != 4 || r.Slow.NS != 3700 {
		t.Errorf("got %d windows of %d ns, want 4 of 3700", r.Slow.Spans, r.Slow.NS)
	}
	for _, s := range r.Slowest {
		sum := int64(0)
		for i := range s.Parts {
			sum += s.Parts[i].NS()
		}
		if sum != s.NS() || s.Task.TID != 7 {
			t.Errorf("got parts of %d ns of thread %d, want %d of 7", sum, s.Task.TID, s.NS())
		}
	}
}

// A thread of which no event tells sleeps, if it was found so twice and was not switched in between: losses
// hide nothing then. Otherwise it is unknown.
func TestWhoSleepsAllTheTime(t *testing.T) {
	nanosleep, _ := kernel.SyscallNumber("amd64", "nanosleep")
	f := func(foundAt event.Time, switches, lost uint64, want result.WhyKind) {
		t.Helper()
		story := &Story{}
		n := uint64(0)
		story.Facts.Standing = func(tid int32) (why.Standing, event.Time, bool) {
			n += switches
			return why.Standing{Asleep: true, Switches: n, Call: nanosleep}, foundAt, tid == 7
		}
		w := NewWindows(story, 7, 1000, Losses{End: func(int32) event.Time { return 2200 }})
		for at := event.Time(500); at <= 4200; at += 100 {
			if at == 2000 && lost > 0 {
				w.Lost(0, lost, at)
			}
			w.Events([]*event.Event{{Kind: event.Sample, Time: at}})
		}
		for _, s := range story.Result(result.Meta{Name: "why"}).Slowest {
			if len(s.Parts) != 1 || s.Parts[0].Path[0].Kind != want {
				t.Errorf("%d switches: from %d: got %+v, want %v", switches, s.From, s.Parts, want)
			}
		}
	}
	f(700, 0, 0, result.WhyTimer)
	f(700, 0, 5, result.WhyTimer)
	f(700, 1, 0, result.WhyUnknown)
	f(9000, 0, 0, result.WhyUnknown) // it was found so later
}

// What is missing is told once, with what it is for.
func TestMissingIsToldOnce(t *testing.T) {
	story := &Story{}
	story.Facts.Missing = append(story.Facts.Missing, Missing("irq:softirq_entry", nil))
	want := "without irq:softirq_entry: softirqs"
	if got := story.Result(result.Meta{}).Notes; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := story.Result(result.Meta{}).Notes; len(got) != 0 {
		t.Errorf("got %q again", got)
	}
}
