package why

import (
	"slices"

	"ppscript/runtime/event"
)

// This file is about switches that were not seen although no loss is known: a CPU's next event is
// of another thread than the one that had it.
//
// Kernels have been seen that keep from perf all that happens while some threads run, mostly the
// idle task of a CPU, each time or now and then: the switch away from them, and wake-ups by
// interrupts meanwhile. The next thread is known then: the thread whose event it is. When it began
// to run is known as well, but for the time between the CPU's last event, or the thread's
// wake-up, and its own first. Other switches that are missing leave it open which other thread had the CPU
// for a moment, but that thread could run: a thread that was blocked, and not woken up, could not.

// unseenSwitch makes up for the switch before record r, which will be number n, and returns the
// number that it gets instead.
//
// Slow path: a few times in a second, if at all.
func (x *index) unseenSwitch(c *cpu, n int32, r *record) int32 {
	at := max(c.at, c.list[len(c.list)-1].at)
	if r.tid == 0 || !x.mute(c.cur) {
		x.gaps.add(Gap{
			CPU: r.cpu, From: at, To: r.at, Reason: "a switch was not seen",
			unseen: true, prev: c.cur, next: r.tid,
		})
		c.turn(turn{at: at, rec: -1, cur: -1, top: -1, kind: kGap})
		c.turn(turn{at: r.at, rec: -1, cur: r.tid, top: c.top(), kind: kEnd})
		c.cur, c.completed, c.rx = -1, -1, -1
		return n
	}
	t := x.thread(r.tid)
	if i := len(t.list) - 1; i >= 0 {
		at = max(at, t.list[i].at)
	}
	x.recs = append(x.recs, record{
		at: at, cpu: r.cpu, other: r.tid, kind: kSwitch, ref: notSeen, top: -1,
	})
	x.addOwn(r.tid, n)
	c.cur, c.completed, c.rx = r.tid, -1, -1
	c.turn(turn{at: at, rec: n, cur: -1, top: c.top(), kind: kSwitch})
	c.turn(turn{at: r.at, rec: -1, cur: r.tid, top: c.top(), kind: kOn})
	return n + 1
}

// again reports a switch that comes twice, since a recording has its event twice: nothing happened on
// the CPU in between.
func (x *index) again(c *cpu, r *record) bool {
	if r.kind != kSwitch || c.cur != r.other || r.tid == r.other || len(c.list) == 0 {
		return false
	}
	t := &c.list[len(c.list)-1]
	if t.kind != kSwitch || t.rec < 0 || t.at != c.at {
		return false
	}
	p := &x.recs[t.rec]
	if l := x.thread(r.tid).list; r.at-p.at > twice || len(l) > 0 && l[len(l)-1].rec != t.rec {
		return false // three switches, of which the second was not seen
	}
	return p.tid == r.tid && p.other == r.other && !p.supposed()
}

// twice is how long after each other two events of a recording tell of the same switch, at most.
const twice = 1_000

// notSeen is the ref of a switch that was not seen, which has no other record.
const notSeen = -2

func (r *record) supposed() bool { return r.kind == kSwitch && r.ref == notSeen }

// mute reports a thread of which no event was ever seen but that it got a CPU.
func (x *index) mute(tid int32) bool { return tid == 0 || !x.thread(tid).heard }

// touched reports that a gap may hide what a thread did after its entry number first.
func (x *index) touched(g *Gap, t *thread, first int) bool {
	if !g.unseen || first < 0 || g.prev == t.tid || g.next == t.tid {
		return true
	}
	r := &x.recs[t.list[first].rec]
	if r.kind != kSwitch || r.tid != t.tid || r.runnable() {
		return true
	}
	return x.wokenUntil(t, first, g.To)
}

// wokenUntil reports that a thread was woken up between an entry and a time.
func (x *index) wokenUntil(t *thread, first int, at event.Time) bool {
	for i := first + 1; i < len(t.list) && t.list[i].at <= at; i++ {
		switch x.recs[t.list[i].rec].kind {
		case kWaking, kWakeup, kBorn:
			return true
		}
	}
	return false
}

// lossy reports that events between two times were lost, more than a switch.
func (s *gaps) lossy(from, to event.Time) bool {
	return slices.ContainsFunc(s.between(from, to), func(g Gap) bool {
		return !g.unseen && g.To > from && g.From < to
	})
}
