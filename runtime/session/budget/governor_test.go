package budget

import (
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ppscript/bpf/hookcost"
	"ppscript/bpf/load"
	"ppscript/runtime/operator/agg"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// A hook has events that cost something all the time.
type hook struct {
	off   bool
	cost  float64 // of events that are on, in CPUs
	hangs float64 // of events that are off
	spent float64
	at    time.Time
	slots int
	rings bool
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

func (*hook) ByKey() bool                   { return false }
func (*hook) inPerson() bool                { return true }
func (h *hook) begin()                      { h.at = time.Now() }
func (*hook) clock() time.Duration          { return 0 }
func (*hook) Pause() error                  { return nil }
func (*hook) Resume() error                 { return nil }
func (h *hook) idle() float64               { return h.hangs }
func (h *hook) rang() bool                  { return h.rings }
func (*hook) alarm(_, _ time.Duration) bool { return false }

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

// TestIntervalsPutNothingOff checks that intervals that are shorter than the time between slots do
// not put these off.
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

// TestHooksThatCostTooMuch checks that events that cost more than the budget while they are off are
// known after some slots and seconds, not before.
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
		if g.costs.time != 1 || g.costs.traced != 1 {
			t.Errorf("got %v s that cost %v s, want 1 and 1", g.costs.time, g.costs.traced)
		}
	})
}

// What a run cost is kept of each window of five seconds, with its begin and its end.
func TestWindows(t *testing.T) {
	start := time.Unix(0, 0)
	const each = 10 * time.Millisecond
	for _, c := range []struct {
		name  string
		spent func(at time.Duration) time.Duration // of CPU time, up to then
		want  float64                              // CPUs
	}{
		{"a begin that costs 100 ms", func(time.Duration) time.Duration { return 0 }, 0.02},
		{"steady", func(at time.Duration) time.Duration { return at / 10 }, 0.12},
		{"a second of all", func(at time.Duration) time.Duration {
			return min(max(at-8*time.Second, 0), time.Second)
		}, 0.2},
	} {
		r := costWindow{}
		before := -100 * time.Millisecond
		for at := time.Duration(0); at < 20*time.Second; at += each {
			r.add(start.Add(at), float64(c.spent(at)-before))
			before = c.spent(at)
		}
		if math.Abs(r.most-c.want) > 0.003 {
			t.Errorf("%s: got %.4f CPUs, want %.4f", c.name, r.most, c.want)
		}
		if len(r.marks) > 2*int(window/grain) {
			t.Errorf("%s: got %d marks, want %d at most", c.name, len(r.marks), 2*int(window/grain))
		}
	}
}

// A run that costs more to begin than its budget allows says so at once, and at its end.
func TestBeginsThatCostTooMuch(t *testing.T) {
	for kernel.CPUTime() < time.Millisecond {
	}
	h := &hook{}
	testkit.Requires(t, testkit.Sysfs) // which has the CPUs
	// The begin counts all CPU time of the process, which other tests have used before.
	for _, share := range []float64{1e-9, 1e6} {
		g, err := govern(share, h)
		if err = errors.Join(err, g.Begin(0)); err != nil {
			t.Fatal(err)
		}
		begin := g.Beginning()
		err = g.Stop(nowhere)
		end := g.Ended()
		says := share < 1
		if err != nil || strings.Contains(begin, "1e-07% of the CPUs are in 5 s") != says ||
			strings.Contains(end, "5 s of this run cost") != says || !says && begin+end != "" {
			t.Errorf("a budget of %v: got %q, %q, %v", share, begin, end, err)
		}
	}
	var none *Governor
	if got := none.Beginning() + none.Ended(); got != "" {
		t.Errorf("without a budget: got %q", got)
	}
}

// TestAlarmOfRings checks that rings tell of what is spent where half full ones are little beside
// the budget.
func TestAlarmOfRings(t *testing.T) {
	var now Traffic
	r := &Rings{Traffic: func() Traffic { return now }, record: hookcost.MeasureRecords(0)}
	each := time.Duration(r.record.Of(1, r.record.Small()))
	now = Traffic{Rings: make([]RingTraffic, 2), Woken: 1000 * r.record.Small()}
	if r.alarm(100*each, 0) || r.rang() {
		t.Error("rings that wake after 2000 records tell of 100")
	}
	if !r.alarm(1000*each, 0) || r.rang() {
		t.Error("rings that wake after 2000 records do not tell of 1000, or have before one came")
	}
	add := func(n uint64) {
		now.Rings[1].Records += n
		now.Rings[1].Bytes += n * r.record.Small()
	}
	if add(900); r.rang() {
		t.Error("900 records are 1000")
	}
	if add(100); !r.rang() {
		t.Error("1000 records are not")
	}
	if r.alarm(0, 0) || r.rang() {
		t.Error("without an alarm it rang")
	}
}

// An alarm that rings before much was spent is no reason to decide: next to no time has passed.
func TestEarlyAlarms(t *testing.T) {
	for _, c := range []struct {
		cost    float64
		rings   bool
		decides bool
	}{{0, true, false}, {1, false, false}, {1, true, true}} {
		synctest.Test(t, func(t *testing.T) {
			h := &hook{}
			g := h.govern(t, 1)
			h.cost, h.rings = c.cost*float64(g.cpus), c.rings
			time.Sleep(g.ctl.Alarm()/time.Duration(g.cpus) + time.Millisecond)
			h.pass()
			g.last.at = time.Now().Add(-time.Millisecond) // it is not due
			if err := g.Step(time.Now(), nowhere); err != nil {
				t.Fatal(err)
			}
			if decides := c.rings && g.spent.Time == 0; decides != c.decides {
				t.Errorf("%+v: got %+v", c, g.spent)
			}
		})
	}
}
