package slowspan

import (
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
		if got, normal := s.is(ns, c); got != want || normal == want {
			t.Errorf("%d ns: got %v and normal %v, want %v", ns, got, normal, want)
		}
	}
}

// Of spans of all lengths, in any order, the share that is asked for is slow, and these are
// the longest.
func TestSlowestAreAShare(t *testing.T) {
	c := &Choice{Slowest: 0.01}
	var s slowness
	const spans = 100_000
	slow, wrong := 0, 0
	for i := range int64(spans) {
		ns := 1 + i*7919%spans // each length once
		is, _ := s.is(ns, c)
		if !is {
			continue
		}
		slow++
		if ns < spans*95/100 {
			wrong++
		}
		if i < atFirst {
			t.Fatalf("span %d is slow before %d told what is long", i, atFirst)
		}
	}
	if slow < spans/200 || slow > spans/50 || wrong > 10 {
		t.Errorf("got %d slow spans of %d, %d of them short; want about 1%%", slow, spans, wrong)
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
		slow, normal := s.is(ns, c)
		if ns == 1e9 && normal || slow && normal || i < atFirst && (slow || normal) {
			t.Errorf("span %d of %d ns: got slow %v, normal %v", i, ns, slow, normal)
		}
		if i == 2*atFirst+1 && !normal {
			t.Errorf("span %d of %d ns: got not normal", i, ns)
		}
	}
}

// Who explains too long in a live run waits; recordings have no bound.
func TestBudget(t *testing.T) {
	live := &Story{Live: true}
	if !live.allowed() {
		t.Error("got nothing allowed at the begin")
	}
	live.spent = time.Hour
	if live.allowed() {
		t.Error("got more than the budget allowed")
	}
	if s := (&Story{spent: time.Hour}); !s.allowed() {
		t.Error("got a bound for a recording")
	}
}

// Windows follow each other without a gap, the last one as long as the run was.
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
