package budget

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A machine is one that a controller observes, with made-up costs, in steps of half a millisecond.
type machine struct {
	hook, work time.Duration // of each hit, of each that counts
	tick, turn time.Duration // of ppscript: of a decision, of attaching or detaching
	alarm      bool
	load       func(at time.Duration) float64
}

const step = time.Millisecond / 2

// observe runs for a time, and returns what was spent in each step, and the last decision.
func (m *machine) observe(c *Controller, total time.Duration) (spent []time.Duration, last Decision) {
	var s Expense
	c.Rely(m.alarm)
	wait := c.Next()
	for at := time.Duration(0); at < total; at += step {
		now := c.Now()
		cost := time.Duration(0)
		s.Time += step
		if now.Open {
			hits := min(m.load(at), 2e9/float64(m.hook+m.work)) * step.Seconds()
			floor := time.Duration(hits * float64(m.hook))
			cost = floor + time.Duration(hits*float64(m.work)/float64(now.Weight))
			s.Open += step
			s.Hits += uint64(hits)
			s.Traced += cost
			s.Floor += floor
		}
		wait -= step
		if a := c.Alarm(); wait <= 0 || m.alarm && a > 0 && s.Traced >= a {
			s.Own += m.tick
			cost += m.tick
			next := c.Decide(s)
			s = Expense{}
			if next.Open != now.Open {
				s.Own += m.turn
				cost += m.turn
			}
			wait = c.Next()
		}
		spent = append(spent, cost)
	}
	return spent, c.Now()
}

// most is the most that was spent in any time of that length, as a share of so many CPUs, after
// the first second.
func most(spent []time.Duration, window time.Duration, cpus int) (share float64) {
	n := int(window / step)
	sum := time.Duration(0)
	from := int(time.Second / step)
	for i := from; i < len(spent); i++ {
		if sum += spent[i]; i-from >= n {
			sum -= spent[i-n]
		}
		if i-from+1 >= n {
			share = max(share, float64(sum)/float64(window)/float64(cpus))
		}
	}
	return share
}

// Whatever the load does, any five seconds cost what the budget says, or 20 % more at most.
func TestBudgetHolds(t *testing.T) {
	for _, budget := range []float64{0.005, 0.01, 0.02, 0.05} {
		for seed := range uint64(60) {
			alarm := seed/3%2 == 0 || budget < 0.01
			r := rand.New(rand.NewPCG(seed, 1))
			cpus := []int{2, 8, 64}[seed%3]
			rate := 3e6
			load, until := 1e3, time.Duration(0)
			m := &machine{hook: time.Duration(20 + r.IntN(80)),
				work: time.Duration(50 + r.IntN(400)), tick: 100 * time.Microsecond,
				turn: 300 * time.Microsecond, alarm: alarm,
				load: func(at time.Duration) float64 {
					if at >= until {
						until = at + time.Duration(r.ExpFloat64()*float64(time.Second))
						load = rate + 1e3 - load
					}
					return load
				}}
			c := New(budget, cpus, r.Float64)
			spent, _ := m.observe(c, 40*time.Second)
			if got, want := most(spent, 5*time.Second, cpus), 1.2*budget; got > want {
				t.Errorf("seed %d, %d CPUs, alarm %t: got %.4f of the CPUs, want at most %.4f", seed, cpus,
					alarm, got, want)
			}
		}
	}
}

// So it is where ppscript itself gets the events, which come in slots only: most of the cost is its own.
func TestBudgetOfRingsHolds(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		budget, cpus := []float64{0.01, 0.02, 0.05}[seed%3], []int{2, 8, 64}[seed/3%3]
		load, until := 1e3, time.Duration(0)
		m := &machine{hook: time.Duration(300 + r.IntN(1200)), tick: 100 * time.Microsecond,
			turn: 300 * time.Microsecond,
			load: func(at time.Duration) float64 {
				if at >= until {
					until = at + time.Duration(r.ExpFloat64()*float64(time.Second))
					load = 3e6 + 1e3 - load
				}
				return load
			}}
		c := New(budget, cpus, r.Float64)
		c.Whole(seed%2 == 0)
		spent, last := m.observe(c, 40*time.Second)
		if got, want := most(spent, 5*time.Second, cpus), 1.2*budget; got > want {
			t.Errorf("seed %d, %d CPUs: got %.4f of the CPUs, want at most %.4f", seed, cpus, got, want)
		}
		if last.Weight != 1 {
			t.Errorf("seed %d: got %+v, want that each event that comes stands for itself", seed, last)
		}
	}
}

// A run that costs less than its budget is left alone.
func TestLowLoadCountsAll(t *testing.T) {
	m := &machine{hook: 60, work: 150, tick: 100 * time.Microsecond,
		load: func(time.Duration) float64 { return 20e3 }}
	c := New(0.01, 2, rand.Float64)
	for range 100 {
		if _, d := m.observe(c, time.Second/4); d != (Decision{Weight: 1, Open: true}) {
			t.Fatalf("got %+v, want all", d)
		}
	}
}

// When the load falls, all events count again, and where leaving out does, none is left out for
// a time.
func TestComesBack(t *testing.T) {
	load := 3e6
	m := &machine{hook: 60, work: 150, tick: 100 * time.Microsecond, turn: 300 * time.Microsecond,
		load: func(time.Duration) float64 { return load }}
	c := New(0.01, 2, rand.Float64)
	if _, d := m.observe(c, 5*time.Second); !d.Slots {
		t.Errorf("got %+v, want slots", d)
	}
	load = 1e3
	if _, d := m.observe(c, 20*time.Second); d != (Decision{Weight: 1, Open: true}) {
		t.Errorf("got %+v, want all", d)
	}
	load = 200e3
	m.hook, m.work = 30, 600 // 0.006 and 0.12 CPUs of 0.02
	if _, d := m.observe(c, 5*time.Second); d.Slots || d.Weight < 8 || d.Weight > 64 {
		t.Errorf("got %+v, want a share", d)
	}
	load = 1e3
	if _, d := m.observe(c, 20*time.Second); d != (Decision{Weight: 1, Open: true}) {
		t.Errorf("got %+v, want all", d)
	}
}

// What is spent is used: a budget is not a reason to observe less than it allows.
func TestBudgetIsUsed(t *testing.T) {
	m := &machine{hook: 60, work: 150, tick: 100 * time.Microsecond, turn: 300 * time.Microsecond,
		load: func(time.Duration) float64 { return 3e6 }}
	spent, _ := m.observe(New(0.02, 2, rand.Float64), 30*time.Second)
	sum := time.Duration(0)
	for _, s := range spent {
		sum += s
	}
	if share := float64(sum) / float64(30*time.Second) / 2; share < 0.012 {
		t.Errorf("got %.4f of the CPUs, want more than 0.012 of the 0.02", share)
	}
}

// So it is where the load jumps: moments in which little happens pay for more of the others.
func TestBudgetIsUsedByLoadsThatJump(t *testing.T) {
	for _, turn := range []time.Duration{300 * time.Microsecond, 1500 * time.Microsecond} {
		all, n := 0.0, 0.0
		for seed := range uint64(60) {
			r := rand.New(rand.NewPCG(seed, 7))
			load, until := 0.0, time.Duration(0)
			m := &machine{hook: 60, work: 150, tick: 100 * time.Microsecond, turn: turn, alarm: seed%2 == 0,
				load: func(at time.Duration) float64 {
					if at >= until {
						until = at + time.Duration(50+r.IntN(500))*time.Millisecond
						load = []float64{0, 20e3, 400e3, 4e6}[r.IntN(4)]
					}
					return load
				}}
			spent, _ := m.observe(New(0.01, 2, r.Float64), 20*time.Second)
			for _, s := range spent {
				all += float64(s)
			}
			n += float64(20*time.Second) * 2 * 0.01
		}
		t.Logf("turns of %v: %.2f of the budget", turn, all/n)
		if all/n < 0.55 {
			t.Errorf("turns of %v: got %.2f of the budget, want at least 0.55", turn, all/n)
		}
	}
}

// What ppscript spends before a run begins is in the budget of its first seconds, and what it uses all the
// time is in that of any.
func TestOwnCostsAreInTheBudget(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 5))
		m := &machine{hook: 60, work: 300, tick: 250 * time.Microsecond, turn: 1500 * time.Microsecond,
			alarm: seed%2 == 0, load: func(time.Duration) float64 { return 2e6 }}
		const cpus, begin = 2, 24 * time.Millisecond
		budget := []float64{0.005, 0.01, 0.02}[seed%3]
		c := New(budget, cpus, r.Float64)
		if !c.Begin(begin + time.Duration(ending*float64(begin))) {
			t.Fatalf("a budget of %v does not afford %v", budget, begin)
		}
		spent, _ := m.observe(c, 20*time.Second)
		sum := begin
		for _, s := range spent[:5*time.Second/step] {
			sum += s
		}
		if got := float64(sum) / float64(5*time.Second) / cpus; got > 1.2*budget {
			t.Errorf("seed %d: the first five seconds cost %.4f of the CPUs, want at most %.4f", seed, got,
				1.2*budget)
		}
		if got := most(spent, 5*time.Second, cpus); got > 1.2*budget {
			t.Errorf("seed %d: got %.4f of the CPUs, want at most %.4f", seed, got, 1.2*budget)
		}
	}
}
