package budget

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/tests/testkit"
)

// A hook has events that cost something all the time.
type hook struct {
	off   bool
	cost  float64 // of events that are on, in CPUs
	hangs float64 // of those that are off
	spent float64
	at    time.Time
	slots int
}

func (h *hook) pass() {
	now := time.Now()
	cost := h.cost
	if h.off {
		cost = h.hangs
	}
	h.spent += cost * float64(now.Sub(h.at))
	h.at = now
}

// later has so much time pass.
func (h *hook) later(g *Governor, d time.Duration) {
	g.last.at, h.at = g.last.at.Add(-d), h.at.Add(-d)
}

func (*hook) ByKey() bool          { return false }
func (*hook) inPerson() bool       { return true }
func (h *hook) begin()             { h.at = time.Now() }
func (*hook) clock() time.Duration { return 0 }
func (*hook) Pause() error         { return nil }
func (*hook) Resume() error        { return nil }
func (h *hook) idle() float64      { return h.hangs }

func (h *hook) Weigh(n uint64) (time.Time, error) {
	h.pass()
	if h.off && n > 0 {
		h.slots++
	}
	h.off = n == 0
	return h.at, nil
}

func (h *hook) Hits() (load.Hits, error) {
	h.pass()
	return load.Hits{Toll: uint64(h.spent), CPUs: []load.CPUHits{{}}}, nil
}

func (*hook) Rows(func(*load.Stack) uint64, func(*agg.Spec, *agg.Partial)) error { return nil }

var nowhere = &Sink{
	EndSlot: func(float64, float64) {}, Unseen: func(float64) {},
	Weighed: func(agg.Force) {}, Mark: func() {}, Stretch: func(agg.Slot, bool) {},
}

func (h *hook) govern(t *testing.T, share float64) *Governor {
	testkit.Requires(t, testkit.Sysfs) // which has the CPUs
	h.at = time.Now()
	g, err := govern(share, h)
	if err == nil {
		err = g.Begin(Started())
	}
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Intervals that are shorter than the time between slots do not put these off.
func TestIntervalsPutNothingOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hook{cost: 1}
		g := h.govern(t, 0.05)
		for end := time.Now().Add(20 * time.Second); h.slots < 5; time.Sleep(3 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got %d slots in 20 s, want 5", h.slots)
			}
			if err := g.Step(time.Now(), nowhere); err != nil {
				t.Fatal(err)
			}
			if err := g.Rows(nil, nowhere); err != nil {
				t.Fatal(err)
			}
		}
		if why := g.Exceeded(); why != "" {
			t.Errorf("got %q of events that cost nothing while they are off", why)
		}
	})
}

// Events that cost more than the budget while they are off are known after some slots and seconds, not
// before.
func TestHooksThatCostTooMuch(t *testing.T) {
	h := &hook{cost: 2, hangs: 1}
	g := h.govern(t, 0.001)
	for h.slots <= hopeless {
		now := time.Now()
		if g.Exceeded() != "" {
			t.Fatalf("got %q after %d slots", g.Exceeded(), h.slots)
		}
		if err := g.Step(now, nowhere); err != nil {
			t.Fatal(err)
		}
		h.later(g, 100*time.Millisecond)
	}
	if g.over.slots < hopeless {
		t.Fatalf("got %d slots that were too dear, want %d", g.over.slots, hopeless)
	}
	g.over.since = g.over.since.Add(-hopeless * time.Second)
	if why := g.Exceeded(); !strings.Contains(why, "even while the events are off, more than 0.1%") {
		t.Errorf("got %q", why)
	}
	h.hangs = 0 // and once they cost nothing it is no longer true
	for slots := h.slots; h.slots < slots+2; {
		if err := g.Step(time.Now(), nowhere); err != nil {
			t.Fatal(err)
		}
		h.later(g, 100*time.Millisecond)
	}
	if why := g.Exceeded(); why != "" {
		t.Errorf("got %q", why)
	}
}

// What observing costs, and for how long, is counted from the begin of the run on: hooks are there before.
func TestCostsCountFromTheBegin(t *testing.T) {
	testkit.Requires(t, testkit.Sysfs)
	synctest.Test(t, func(t *testing.T) {
		h := &hook{cost: 1, at: time.Now()}
		g, err := govern(0.05, h)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if err := g.Begin(Started()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := g.Rows(nil, nowhere); err != nil {
			t.Fatal(err)
		}
		if g.told.time != 1 || g.told.traced != 1 {
			t.Errorf("got %v s that cost %v s, want 1 and 1", g.told.time, g.told.traced)
		}
	})
}
