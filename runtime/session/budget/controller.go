// Package budget keeps what observing costs within a share of the machine's CPUs. A Controller
// decides, from what was measured, how many of the events count: all, one of 2, 4, ... by chance,
// or those of slots of time, between which nothing is observed. Package session measures, and
// carries out what it says; what is left out is made up for by weights.
package budget

import (
	"math"
	"time"
)

// This file decides.
//
// What may be spent is a bucket that fills steadily, up to a bound: so whatever happens, what is
// spent in a longer time is in the budget. The tempting alternative, to compare the cost of a
// period with the budget and to correct the share, lets each jump of the load cost a period
// more, and never gets that back.
//
// The lowest share of events is where leaving out more would save nothing: each hit costs a
// little, whether it counts or not. From there on programs are detached, and attached for slots
// of time.

const (
	// burst is how much may be saved up, as the time in which the budget brings it.
	burst = 250 * time.Millisecond
	// least is which part of the budget is for the observed threads, whatever ppscript itself
	// uses: it does not stop to observe because printing is dear.
	least = 0.25
	// aim is which part of the budget a decision plans to spend, and calm below which part the
	// next step up must stay.
	aim, calm = 0.85, 0.6
	// patience is how long the load must be low before more of it counts.
	patience = time.Second
	// MaxWeight is the weight of an event at the smallest share.
	MaxWeight = 1024
)

// The time from one measurement to the next is as long as a load may go unnoticed that uses all CPUs
// and spends most of their time on being observed: within the excess that a budget may have in some
// seconds. While little is spent it is longer, since what was not spent is there as well.
const (
	minPeriod, maxPeriod = 25 * time.Millisecond, 100 * time.Millisecond
	maxCalm              = 200 * time.Millisecond
	unnoticed, unspent   = 1.6, 5.6 // seconds of the whole budget
)

// Where an alarm tells of a load that jumps, the time is as long as decisions can wait. It grows while next
// to nothing is spent: looking costs something, too.
const (
	maxQuiet = 2 * time.Second
	quiet    = 1.0 / 8 // of the budget
	// alarming is how much may be spent until the alarm, as the time in which the budget brings it.
	alarming = 100 * time.Millisecond
)

// Lengths of slots, and of the time from the begin of one to that of the next.
const (
	minSlot, maxSlot   = 4 * time.Millisecond, 100 * time.Millisecond
	minCycle, maxCycle = 150 * time.Millisecond, 2 * time.Second
	// firstProbe is the wait for the first slot after a jump of the load; each is twice the one before it,
	// until it is what the budget allows. So it is soon known how long a burst was, and how high,
	// for the price of some short slots.
	firstProbe = 10 * time.Millisecond
)

// Expense is the cost of observing, over some time.
type Expense struct {
	Time time.Duration
	Own  time.Duration // CPU time of ppscript
	// Hits called programs, of which the rest is, in Open.
	Hits uint64
	// Traced is what the hits cost the observed threads.
	Traced time.Duration
	Open   time.Duration // the part of Time in which programs were attached
	// Floor is how much of Traced each hit costs that does not count.
	Floor time.Duration
	// Idle is what events cost now while they are off, in CPUs.
	Idle float64
	// Offered are events of keys that may count or not, and Stood for how many those stand that did;
	// both are 0 while all keys count, or events count each by itself.
	Offered, Stood uint64
}

// A Decision says how events count from now on.
type Decision struct {
	// Weight is how many events each that counts stands for, 1 to MaxWeight.
	Weight uint64
	// Slots says that they count in slots of time; Open that this is one.
	Slots, Open bool
}

// A Controller decides for one run.
type Controller struct {
	share     float64
	rate      float64 // the budget, in CPUs: ns a ns
	remaining float64 // that may be spent now, ns; less than 0 is owed
	debt      float64 // that the begin of the run cost, and is not paid back yet, ns
	repay     float64 // how much of that is paid back, in CPUs
	now       Decision
	lately
	low    time.Duration // since when the load is low
	alarm  bool          // somebody tells of what is spent: see Alarm
	calm   time.Duration // the time to the next decision, while next to nothing is spent
	slot   slot
	trust  trust
	keys   keys
	random func() float64 // at least 0, below 1
}

// lately is what was spent, in CPUs.
type lately struct {
	// traced and floor are what observing cost while programs were attached, idle what it costs while
	// events are off; own is what ppscript uses, base what it uses without slots; all is all that was
	// spent, over some seconds.
	traced, floor, idle, own, base, all float64
}

// keys is what a Controller knows where keys count, with all their events, or do not.
type keys struct {
	whole bool
	fixed bool   // none are left out: there are slots only
	most  uint64 // the weight with which enough of them do
	since time.Duration
}

// slot is where a Controller is in slots of time.
type slot struct {
	length, since time.Duration // of slots; since when this is one, or none
	wait          time.Duration
	low           int           // slots in a row in which there was little to do
	spent, plan   float64       // what it cost so far, and what it was to cost, ns
	probe         time.Duration // how long to wait at most, since the load jumped; 0 is as planned
}

// trust is how often in a row slots must have had little to do until programs stay attached: more
// often where that was wrong lately.
type trust struct {
	need  int
	since time.Duration // they stay attached
}

// Bounds of trust.need, and how long programs must stay attached until it was right.
const (
	leastTrust, mostTrust = 3, 24
	proven                = 10 * time.Second
)

// New is the controller of a share of the time of so many CPUs.
func New(share float64, cpus int, random func() float64) *Controller {
	c := &Controller{share: share, rate: share * float64(cpus), random: random,
		now: Decision{Weight: 1, Open: true}, trust: trust{need: leastTrust}}
	c.remaining = c.rate * float64(burst)
	c.keys.most = MaxWeight
	return c
}

// Relate says that what counts is keys with all their events, not events, and that slots must have room
// for what relates them.
func (c *Controller) Relate() { c.keys.whole = true }

// Whole says that nothing but slots can save anything, and whether something relates events.
func (c *Controller) Whole(related bool) {
	c.keys.fixed, c.keys.whole, c.keys.most = true, related, 1
}

// shortest, longest and rarest are of slots, and of what is from the begin of one to that of the next.
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

// even bounds the weight where few keys have most events: keys that count do not stand for the others
// then. After a time it tries again.
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

// enough is how many events say which share of them keys have.
const enough = 200

// Now is what was decided last.
func (c *Controller) Now() Decision { return c.now }

// Next is how long it takes until Decide must be called again, at most.
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

// Alarm is how much those may spend that are observed until Decide must be called, also before Next; 0 is
// any. Rely says whether somebody tells then.
func (c *Controller) Alarm() time.Duration {
	switch {
	case !c.now.Slots:
		return time.Duration(c.rate * float64(alarming))
	case c.now.Open:
		return time.Duration(2 * c.slot.plan)
	}
	return 0
}

// Rely says whether somebody calls Decide when as much was spent as Alarm says.
func (c *Controller) Rely(on bool) { c.alarm = on }

func (c *Controller) period(seconds float64, most time.Duration) time.Duration {
	return min(max(time.Duration(c.share*seconds*float64(time.Second)), minPeriod), most)
}

// Decide is told what was spent since the last call, and says how events count from now on.
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

// mostOwed is how much may be owed, at most, for what ppscript itself uses, as the time in which the budget
// brings it. Where that alone needs all of the budget nothing would be observed ever else.
const mostOwed = 2 * time.Second

// window is the time of which any must cost what the budget says.
const window = 5 * time.Second

// Begin is told what ppscript spent before the first decision, and will behind the last one. That is paid
// back in a window, which so costs no more than any other, and in which something is observed all the same.
// It reports whether a window brings as much.
func (c *Controller) Begin(d time.Duration) bool {
	c.debt = float64(d)
	c.repay = min(c.debt/float64(window), c.rate*(1-least))
	return c.debt <= c.rate*float64(window)*(1-least)
}

// Owe is told what ppscript itself spent meanwhile.
func (c *Controller) Owe(d time.Duration) {
	room := max(0, c.remaining+c.rate*float64(mostOwed))
	c.remaining -= min(float64(d), room)
}

// Pay is told what was spent in a time in which programs were attached or detached, which tells nothing
// about the load.
func (c *Controller) Pay(s Expense) {
	c.learn(&s)
	c.idle = s.Idle
	back := min(c.debt, c.repay*float64(s.Time))
	c.debt -= back
	c.remaining = min(c.remaining+c.rate*float64(s.Time)-back, c.rate*float64(burst)) - float64(s.Traced)
	c.Owe(s.Own)
}

// learn notes what observing costs now. It rises at once, and falls slowly.
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

// settled is in how much time of being observed a load that fell is known to have: some slots; more where
// events come to ppscript itself, since each costs more there, and it is longer until somebody sees that it
// rose.
const settled, settledRings = 80 * time.Millisecond, 200 * time.Millisecond

// weightOf is how much a measurement of such a time counts beside those before it, of which it is
// known how long they are remembered.
func weightOf(d, memory time.Duration) float64 {
	return 1 - math.Exp(-float64(d)/float64(memory))
}

// costs estimates what the share with that weight would cost the observed threads, in CPUs.
func (c *Controller) costs(weight uint64) float64 {
	work := max(c.traced-c.floor, 0) * float64(c.now.Weight)
	return c.floor + work/float64(weight)
}

// may is what those may spend that are observed, of a part of the budget, if ppscript uses so much.
func (c *Controller) may(part, own float64) float64 {
	return max(c.rate*part-own, c.rate*least*part)
}

// lowest is the weight from which on leaving out more saves little.
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

// set changes the weight, and what things cost with it.
func (c *Controller) set(w uint64) {
	c.traced = c.costs(w)
	c.now.Weight = w
}

// slots decides where events count in slots of time.
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

// again says that a slot must follow although something is owed: what is off costs all of the budget, if as
// much happens as in the last slots, and that must be known; or ppscript itself does.
func (c *Controller) again() bool { return c.unable() && c.slot.since >= c.rarest() }

// unable reports that the budget cannot be kept by observing less.
func (c *Controller) unable() bool { return c.idle > c.rate*aim || c.own > c.rate*(1-least) }

// rest plans the time until the next slot, and how long that is: so that both together cost what
// the budget allows. Chance makes the time longer or shorter, so that no load beats with it.
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
		// Slots cost less than was planned: the next one is paid for already.
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
