package why

import (
	"slices"

	"ppscript/runtime/event"
)

// This file handles switches that were not observed although no loss is known: a CPU's next event
// is of another thread than the thread that had the CPU.
//
// Some kernels do not report events to perf while certain threads run, mostly the idle task of a
// CPU: the switch away from them, and wake-ups by interrupts in that time. The next thread on the
// CPU is then known from its first event. It began to run between the CPU's last event, or the
// thread's wake-up, and that event. With other missing switches, it is unknown which thread had the
// CPU for a moment; but it must have been a runnable thread, not a thread that was blocked and not
// woken.

// unseenSwitch adds a gap or an inferred switch before record r, which would be number n, and
// returns the new number for r.
//
// Slow path: at most a few times per second.
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

// again reports whether a switch repeats the last one, because a recording has its event twice:
// nothing happened on the CPU in between.
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
		return false // really three switches, of which the second was not observed
	}
	return p.tid == r.tid && p.other == r.other && !p.supposed()
}

// twice is the longest time, in ns, between two events of the same switch in a recording.
const twice = 1_000

// notSeen is the ref of a switch that was not observed but inferred.
const notSeen = -2

func (r *record) supposed() bool { return r.kind == kSwitch && r.ref == notSeen }

// mute reports whether a thread has no events except that it got a CPU.
func (x *index) mute(tid int32) bool { return tid == 0 || !x.thread(tid).heard }

// touched reports whether a gap may hide activity of a thread after its entry at
// position first.
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

// wokenUntil reports whether a thread was woken up between an entry and a time.
func (x *index) wokenUntil(t *thread, first int, at event.Time) bool {
	for i := first + 1; i < len(t.list) && t.list[i].at <= at; i++ {
		switch x.recs[t.list[i].rec].kind {
		case kWaking, kWakeup, kBorn:
			return true
		}
	}
	return false
}

// lossy reports whether events between two times were lost, not counting
// unobserved switches.
func (s *gaps) lossy(from, to event.Time) bool {
	return slices.ContainsFunc(s.between(from, to), func(g Gap) bool {
		return !g.unseen && g.To > from && g.From < to
	})
}
