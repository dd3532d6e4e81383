package why

import (
	"ppscript/runtime/event"
	"ppscript/runtime/result"
)

// This file tells in which cgroups threads are: as their own events say, which recordings may have,
// else as the tracker of threads says, which is asked once for each history.

// A member is what is known of a thread's cgroup.
type member struct {
	cgroup int32  // its place in members; 0 was not asked for yet
	id     uint64 // as the thread's newest event says; 0 is not known
	free   bool   // it has no quota
	// kernel says that it is a thread of the kernel, user that it is not; neither was asked yet.
	kernel, user bool
}

// members are the cgroups that were asked for. Few machines have more than maxMembers.
type members struct {
	list []Cgroup // the first is the zero Cgroup: nothing is known
	at   map[Cgroup]int32
	ids  map[uint64]int32
}

const maxMembers = 1 << 14

func (m *members) init() {
	m.list = append(m.list[:0], Cgroup{})
	m.at, m.ids = map[Cgroup]int32{}, map[uint64]int32{}
}

// of is the place of a cgroup. When there are too many, all later ones are unknown.
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

// inCgroup notes what an event says of the cgroup of the thread that has the CPU.
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

// inTheWay names the thread in the way of a thread, and its cgroup. Of a thread that ended before
// anybody asked it is not known whether its cgroup was another: then that of the other is told, unless
// it is the one of all that are in none.
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
