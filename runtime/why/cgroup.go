package why

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file finds the cgroups of threads: from ids in their own events, which recordings may have,
// else by Config.Cgroup, which is called once for each thread and history.

// A member caches the cgroup of a thread.
type member struct {
	cgroup int32  // 1 + its index in members.list; 0 if it was not looked up yet
	id     uint64 // id in the thread's newest event; 0 if unknown
	free   bool   // the cgroup has no quota
	// kernel says that it is a kernel thread, user that it is not; both are false if that was
	// not looked up yet.
	kernel, user bool
}

// members has the cgroups that were looked up. Few machines have more than maxMembers.
type members struct {
	list []Cgroup // the first one is the zero Cgroup, which is unknown
	at   map[Cgroup]int32
	ids  map[uint64]int32
}

const maxMembers = 1 << 14

func (m *members) init() {
	m.list = append(m.list[:0], Cgroup{})
	m.at, m.ids = map[Cgroup]int32{}, map[uint64]int32{}
}

// of returns 1 + the index of a cgroup in list. When there are too many, further
// cgroups are unknown.
func (m *members) of(c Cgroup) int32 {
	if c == (Cgroup{}) {
		return 1
	}
	i, known := m.at[c]
	if !known {
		if len(m.list) >= maxMembers {
			return 1
		}
		m.list = append(m.list, c)
		i = int32(len(m.list))
		m.at[c] = i
	}
	return i
}

// inCgroup records the cgroup id in an event for the thread that has the CPU.
func (x *Explainer) inCgroup(tid int32, e *event.Event) {
	if id, ok := e.Stream.Members.Member(e, event.MemberCgroup); ok && id != 0 && tid > 0 {
		if t := x.thread(tid); t.id != id {
			t.id, t.cgroup = id, 0
		}
	}
}

// cgroup returns the cgroup of a thread.
func (x *Explainer) cgroup(tid int32) Cgroup {
	t := x.thread(tid)
	if t.cgroup > 0 {
		return x.members.list[t.cgroup-1]
	}
	switch {
	case t.id != 0 && x.cfg.CgroupByID != nil:
		i, known := x.members.ids[t.id]
		if !known {
			i = x.members.of(x.cfg.CgroupByID(t.id))
			if len(x.members.ids) < maxMembers {
				x.members.ids[t.id] = i
			}
		}
		t.cgroup = i
	case x.cfg.Cgroup != nil:
		t.cgroup = x.members.of(x.cfg.Cgroup(tid))
	default:
		return Cgroup{}
	}
	return x.members.list[t.cgroup-1]
}

// inTheWay sets the thread that blocks another thread, and its cgroup if it differs. The own cgroup
// of a thread that has ended may be unknown: then the other thread's cgroup is set, unless it is
// the root.
func (x *Explainer) inTheWay(l *result.WhyLink, mine, whom *thread) {
	l.Whom = x.task(whom.tid)
	a, b := l.Task.PID, l.Whom.PID
	l.Foreign = a > 0 && b > 0 && a != b
	l.Cgroup = ""
	l.Kernel = (l.Foreign || b <= 0) && x.isKernel(whom)
	if !l.Foreign || l.Kernel || x.isKernel(mine) {
		return
	}
	own, other := x.cgroup(mine.tid), x.cgroup(whom.tid)
	switch {
	case own == other || own == (Cgroup{}) && other.Path == "/" || other == (Cgroup{}):
	case own.Name == other.Name:
		l.Cgroup = "cgroup " + other.Path
	default:
		l.Cgroup = other.Name
	}
}
