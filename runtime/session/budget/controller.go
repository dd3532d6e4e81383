// Package budget keeps the cost of observing within a share of the machine's CPU time. A
// Controller decides, from measurements, how many of the events count: all, one of 2, 4, ... by
// chance, or the events of slots of time, between which nothing is observed. A Governor measures
// and carries out the decisions. Events that count get weights that make up for the events left
// out.
package budget

import (
	"math"
	"time"
)

// This file has the Controller's decisions.
//
// The budget is a bucket that fills steadily, up to a bound, so that the cost over a longer time
// is always in the budget. The tempting alternative, to compare the cost of each period with the
// budget and to correct the share, overspends for a period at each jump of the load, and never
// makes up for it.
//
// Below some share, leaving out more events saves nothing, since each hit costs a little even
// if it does not count. From there on programs are detached, and attached only for slots of
// time.

const (
	// burst is the capacity of the bucket, as the time in which it fills.
	burst = 250 * time.Millisecond
	// least is the share of the budget that observed threads may always cost, however
	// much ppscript itself uses, so that expensive printing does not stop the
	// observation.
	least = 0.25
	// aim is the share of the budget that a decision plans to spend. calm is the share that
	// the next larger step must stay below.
	aim, calm = 0.85, 0.6
	// patience is the time for which the load must be low before more events
	// count.
	patience = time.Second
	// MaxWeight is the weight of an event at the smallest share.
	MaxWeight = 1024
)

// The time between measurements. In the worst case a load uses all CPUs and spends most of their
// time on being observed; it may go unnoticed only as long as the budget's tolerance allows. While
// little is spent the time is longer, since the savings can be used too.
const (
	minPeriod, maxPeriod = 25 * time.Millisecond, 100 * time.Millisecond
	maxCalm              = 200 * time.Millisecond
	unnoticed, unspent   = 1.6, 5.6 // seconds of the whole budget
)

// If an alarm reports jumps of the load, the time is only bounded by the decisions that wait for
// it. It grows while almost nothing is spent, since measuring has a cost too.
const (
	maxQuiet = 2 * time.Second
	quiet    = 1.0 / 8 // of the budget
	// alarming is the cost at which the alarm rings, as the time in which the budget allows
	// that cost.
	alarming = 100 * time.Millisecond
)

// Lengths of slots, and of the time from the begin of one slot to the begin of
// the next.
const (
	minSlot, maxSlot   = 4 * time.Millisecond, 100 * time.Millisecond
	minCycle, maxCycle = 150 * time.Millisecond, 2 * time.Second
	// firstProbe is the wait for the first slot after a jump of the load. Each wait is twice the
	// one before, up to the wait that the budget demands. So some short slots soon show how long
	// and how high a burst was.
	firstProbe = 10 * time.Millisecond
)

// Expense is the cost of observing, over some time.
type Expense struct {
	Time time.Duration
	Own  time.Duration // CPU time of ppscript
	// Hits is the number of calls of programs in Open, which the values below
	// are about.
	Hits uint64
	// Traced is the cost of the hits for the observed threads.
	Traced time.Duration
	Open   time.Duration // the part of Time in which programs were attached
	// Floor is the cost of a hit that does not count.
	Floor time.Duration
	// Idle is the cost of events while they are off, in CPUs.
	Idle float64
	// Offered is the number of events of all keys, where a weight leaves out whole keys, and Stood
	// the number that the counted events stand for. Both are 0 while all keys count, or if single
	// events are left out.
	Offered, Stood uint64
}

// A Decision says how events count from now on.
type Decision struct {
	// Weight is the number of events that each counted event stands for, 1 to
	// MaxWeight.
	Weight uint64
	// Slots says that events count in slots of time; Open that a slot is open.
	Slots, Open bool
}

// A Controller decides for one run.
type Controller struct {
	share     float64
	rate      float64 // the budget, in CPUs: ns a ns
	remaining float64 // level of the bucket, ns; negative is overspent
	debt      float64 // cost of the run's begin that is not paid back yet, ns
	repay     float64 // rate at which debt is paid back, in CPUs
	now       Decision
	lately
	low    time.Duration // since when the load is low
	alarm  bool          // Decide is called early if much is spent: see Alarm
	calm   time.Duration // the time to the next decision, while next to nothing is spent
	slot   slot
	trust  trust
	keys   keys
	random func() float64 // at least 0, below 1
}

// lately has recent costs, in CPUs.
type lately struct {
	// traced and floor are the cost of observing while programs were attached, idle the cost while
	// events are off. own is the CPU use of ppscript, base the same without slots. all is the total
	// over some seconds.
	traced, floor, idle, own, base, all float64
}

// keys is the state for runs in which a weight leaves out whole keys.
type keys struct {
	whole bool
	fixed bool   // no keys are left out: only slots save
	most  uint64 // the largest weight with which enough keys count
	since time.Duration
}

// slot is the state for slots of time.
type slot struct {
	length, since time.Duration // length of slots; begin of this slot or gap
	wait          time.Duration
	low           int           // slots in a row in which there was little to do
	spent, plan   float64       // its cost so far, and its planned cost, ns
	probe         time.Duration // bound on the wait after a jump of the load; 0 is none
}

// trust is the number of quiet slots in a row after which programs stay attached. It grows when
// that decision turned out wrong.
type trust struct {
	need  int
	since time.Duration // they stay attached
}

// Bounds of trust.need, and the time after which the decision to stay attached
// counts as right.
const (
	leastTrust, mostTrust = 3, 24
	proven                = 10 * time.Second
)

// New makes a Controller for a share of the time of a number of CPUs.
func New(share float64, cpus int, random func() float64) *Controller {
	c := &Controller{share: share, rate: share * float64(cpus), random: random,
		now: Decision{Weight: 1, Open: true}, trust: trust{need: leastTrust}}
	c.remaining = c.rate * float64(burst)
	c.keys.most = MaxWeight
	return c
}

// Relate says that weights leave out whole keys, not single events, and that slots must be long
// enough for pairs.
func (c *Controller) Relate() { c.keys.whole = true }

// Whole says that only slots can save cost, and whether some operator relates events.
func (c *Controller) Whole(related bool) {
	c.keys.fixed, c.keys.whole, c.keys.most = true, related, 1
}

// shortest, longest and rarest bound the length of slots, and the time from the begin of one slot
// to the next.
func (c *Controller) shortest() time.Duration {
	if c.keys.whole {
		return 10 * minSlot
	}
	return minSlot
}

func (c *Controller) longest() time.Duration {
	if c.keys.whole {
		return 5 * maxSlot
	}
	return maxSlot
}

func (c *Controller) rarest() time.Duration {
	if c.keys.whole {
		return 2 * maxCycle
	}
	return maxCycle
}

// even bounds the weight if few keys have most of the events, since counted keys then do not
// represent the others. After a time it tries a larger weight again.
func (c *Controller) even(s *Expense) {
	k := &c.keys
	k.since += s.Time
	uneven := 2*math.Abs(float64(s.Offered)-float64(s.Stood)) > float64(s.Offered)
	switch {
	case s.Offered >= enough && uneven && c.now.Weight > 1:
		k.most, k.since = max(c.now.Weight/4, 1), 0
		c.set(k.most)
	case k.since >= proven && k.most < MaxWeight && !k.fixed:
		k.most, k.since = 2*k.most, 0
	}
}

// enough is the number of events from which the share of keys is estimated.
const enough = 200

// Now returns the last decision.
func (c *Controller) Now() Decision { return c.now }

// Next returns the longest time until Decide must be called again.
func (c *Controller) Next() time.Duration {
	switch {
	case !c.now.Slots:
		calm := c.now.Weight == 1 && c.all < c.rate/2
		switch {
		case c.alarm && calm:
			return max(c.calm, maxCalm)
		case c.alarm:
			return maxPeriod
		case calm:
			return c.period(unspent, maxCalm)
		}
		return c.period(unnoticed, maxPeriod)
	case c.now.Open:
		look := max(c.period(unnoticed, maxPeriod)/4, minSlot) // whether the load jumped
		if c.alarm {
			look = c.slot.length
		}
		return min(max(c.slot.length-c.slot.since, time.Millisecond/2), look)
	case c.slot.probe > 0:
		return max(c.slot.wait-c.slot.since, time.Millisecond)
	}
	owed := time.Duration(max(-c.remaining, 0) / c.rate)
	if c.unable() {
		owed = min(owed, c.rarest()-c.slot.since)
	}
	return max(c.slot.wait-c.slot.since, owed, time.Millisecond)
}

// Alarm returns the cost of observed threads at which Decide must be called even before Next; 0
// means no bound. Rely says whether the caller can notice it.
func (c *Controller) Alarm() time.Duration {
	switch {
	case !c.now.Slots:
		return time.Duration(c.rate * float64(alarming))
	case c.now.Open:
		return time.Duration(2 * c.slot.plan)
	}
	return 0
}

// Rely says whether the caller notices a cost of Alarm and calls Decide then.
func (c *Controller) Rely(on bool) { c.alarm = on }

func (c *Controller) period(seconds float64, most time.Duration) time.Duration {
	return min(max(time.Duration(c.share*seconds*float64(time.Second)), minPeriod), most)
}

// Decide takes the cost since the last call, and decides how events count from now on.
func (c *Controller) Decide(s Expense) Decision {
	c.Pay(s)
	c.even(&s)
	if c.now.Slots {
		c.slots(&s)
	} else {
		c.steady(&s)
	}
	return c.now
}

// mostOwed bounds how far ppscript's own use may overdraw the bucket, as the time in which the
// budget refills it. Without a bound, nothing would ever be observed if that use alone takes
// the whole budget.
const mostOwed = 2 * time.Second

// window is the length of time over which the cost must be within the budget,
// wherever it begins.
const window = 5 * time.Second

// Begin takes the cost of ppscript before the first decision and after the last one. It is paid
// back within a window, during which events are still observed. Begin reports whether one window
// suffices.
func (c *Controller) Begin(d time.Duration) bool {
	c.debt = float64(d)
	c.repay = min(c.debt/float64(window), c.rate*(1-least))
	return c.debt <= c.rate*float64(window)*(1-least)
}

// Owe takes the CPU time that ppscript used since the last call.
func (c *Controller) Owe(d time.Duration) {
	room := max(0, c.remaining+c.rate*float64(mostOwed))
	c.remaining -= min(float64(d), room)
}

// Pay takes the cost of a time in which programs were attached or detached, from which nothing is
// learnt about the load.
func (c *Controller) Pay(s Expense) {
	c.learn(&s)
	c.idle = s.Idle
	back := min(c.debt, c.repay*float64(s.Time))
	c.debt -= back
	c.remaining = min(c.remaining+c.rate*float64(s.Time)-back, c.rate*float64(burst)) - float64(s.Traced)
	c.Owe(s.Own)
}

// learn updates the recent costs: they rise at once, and fall slowly.
func (c *Controller) learn(s *Expense) {
	own := float64(s.Own) / float64(max(s.Time, 1))
	c.own += (own - c.own) * weightOf(s.Time, time.Second)
	if !c.now.Slots {
		c.base += (own - c.base) * weightOf(s.Time, time.Second)
	}
	c.all += (own + float64(s.Traced)/float64(max(s.Time, 1)) - c.all) * weightOf(s.Time, 3*time.Second)
	if s.Open <= 0 {
		return
	}
	traced, floor := float64(s.Traced)/float64(s.Open), float64(s.Floor)/float64(s.Open)
	if traced >= c.traced {
		c.traced, c.floor = traced, floor
		return
	}
	memory := settled
	if c.keys.fixed {
		memory = settledRings
	}
	w := weightOf(s.Open, memory)
	c.traced += (traced - c.traced) * w
	c.floor += (floor - c.floor) * w
}

// settled is the observed time after which a lower load is believed: some slots. It is longer if
// events come to ppscript itself, since each costs more and a rise is noticed later.
const settled, settledRings = 80 * time.Millisecond, 200 * time.Millisecond

// weightOf returns the weight of a new measurement against older ones, in a moving
// average.
func weightOf(d, memory time.Duration) float64 {
	return 1 - math.Exp(-float64(d)/float64(memory))
}

// costs estimates the cost for observed threads with a weight, in CPUs.
func (c *Controller) costs(weight uint64) float64 {
	work := max(c.traced-c.floor, 0) * float64(c.now.Weight)
	return c.floor + work/float64(weight)
}

// may returns the cost allowed for observed threads, from a part of the budget and ppscript's
// own use.
func (c *Controller) may(part, own float64) float64 {
	return max(c.rate*part-own, c.rate*least*part)
}

// lowest returns the weight from which a larger one saves little.
func (c *Controller) lowest() uint64 {
	w := uint64(1)
	for w < c.keys.most && c.costs(w) > 2*c.floor {
		w *= 2
	}
	return w
}

// steady decides while programs stay attached.
func (c *Controller) steady(s *Expense) {
	w := c.now.Weight
	if c.trust.since += s.Time; c.trust.since >= proven {
		c.trust.need = leastTrust
	}
	if c.calm = min(max(2*c.calm, maxCalm), maxQuiet); c.all > c.rate*quiet {
		c.calm = 0
	}
	most := c.may(aim, c.base)
	if c.traced > most && c.remaining < c.rate*float64(burst)*0.9 {
		c.low = 0
		for w < c.keys.most && c.costs(w) > most {
			w *= 2
		}
		if c.costs(w) <= most && c.remaining > 0 {
			c.set(w)
			return
		}
		c.set(c.lowest())
		c.now.Slots, c.now.Open = true, false
		c.slot = slot{probe: firstProbe}
		if c.trust.since < proven {
			c.trust.need = min(2*c.trust.need, mostTrust)
		}
		c.rest()
		return
	}
	if c.low += s.Time; w > 1 && c.costs(w/2) < c.may(calm, c.base) {
		if c.low >= patience {
			c.set(w / 2)
			c.low = patience / 2
		}
		return
	}
	c.low = 0
}

// set changes the weight and scales the recent costs accordingly.
func (c *Controller) set(w uint64) {
	c.traced = c.costs(w)
	c.now.Weight = w
}

// slots decides while events count in slots of time.
func (c *Controller) slots(s *Expense) {
	c.slot.since += s.Time
	c.slot.spent += float64(s.Traced)
	jumped := c.slot.spent > 2*c.slot.plan && c.slot.since >= minSlot/2
	switch {
	case c.now.Open && c.slot.since < c.slot.length && !jumped:
	case c.now.Open:
		c.now.Open = false
		if c.traced < c.may(calm, c.base) {
			c.slot.low++
		} else {
			c.slot.low = 0
		}
		if jumped && c.slot.probe == 0 {
			c.slot.probe = firstProbe
		}
		c.rest()
	case c.slot.since >= c.slot.wait && (c.remaining >= 0 || c.slot.probe > 0 || c.again()):
		c.slot.since, c.slot.spent = 0, 0
		c.now.Open = true
		if c.slot.low >= c.trust.need {
			// It was quiet for some slots: programs stay attached.
			c.now.Slots, c.low, c.trust.since = false, 0, 0
		}
	}
}

// again says that a slot must follow although the bucket is overdrawn. It must if events that are
// off, or ppscript itself, seem to use all of the budget, since only a slot can show whether that
// is still so.
func (c *Controller) again() bool { return c.unable() && c.slot.since >= c.rarest() }

// unable reports that the budget cannot be kept by observing less.
func (c *Controller) unable() bool { return c.idle > c.rate*aim || c.own > c.rate*(1-least) }

// rest plans the wait until the next slot and the slot's length, so that both together cost what
// the budget allows. The wait is varied at random, so that it does not fall into step with a
// periodic load.
func (c *Controller) rest() {
	duty := min(c.may(aim, c.own)/max(c.traced, 1e-9), 0.5)
	cycle := float64(minCycle)
	if least := float64(c.shortest()) / duty; least > cycle {
		cycle = min(least, float64(c.rarest()))
	}
	c.slot.length = time.Duration(min(max(duty*cycle, float64(c.shortest())), float64(c.longest())))
	c.slot.plan = c.traced * float64(c.slot.length)
	owed := max(-c.remaining, 0) / c.rate
	pause := max(cycle-float64(c.slot.length), owed)
	if saved := c.remaining - c.slot.plan; saved > 0 {
		// Slots cost less than planned, so that the next one may come sooner.
		pause = min(pause, max(float64(minCycle)-float64(c.slot.length), 0))
	}
	if c.slot.probe > 0 {
		if float64(c.slot.probe) < pause && c.own < c.rate {
			pause, c.slot.length = float64(c.slot.probe), minSlot
			c.slot.probe *= 2
		} else {
			c.slot.probe = 0
		}
	}
	c.slot.plan = c.traced * float64(c.slot.length) // a probe may be shorter
	c.slot.since, c.slot.wait = 0, time.Duration(pause*(0.75+c.random()/2))
}
