package why

import "ppscript/runtime/event"

// This file is about threads that sleep all the time: no event tells of them.

// A Standing is how a thread is found at a time. Two that are alike, and Asleep, tell that it slept all
// the time in between: a thread that wakes up and sleeps again was switched meanwhile.
type Standing struct {
	Asleep   bool
	Switches uint64 // so often it left its CPU
	// Call is the system call in which it sleeps, with the first arguments; -1 if that is not known.
	Call int64
	Args [2]uint64
	// Where is the function of the kernel in which it sleeps; "" is not known.
	Where string
}

// Asleep says that a thread has slept in the same way since a time, if no event of it is known.
func (x *Explainer) Asleep(tid int32, since event.Time, in Standing) {
	t := x.thread(tid)
	if len(t.list) > 0 || !in.Asleep {
		return
	}
	add := func(r record) {
		r.at, r.cpu, r.tid, r.ref, r.top = since, -1, tid, -1, -1
		x.recs = append(x.recs, r)
		x.addOwn(tid, int32(len(x.recs))-1)
	}
	switch {
	case in.Call >= 0:
		name := x.syscallName(in.Call)
		add(record{kind: kEnter, a: uint64(in.Call), b: in.Args[0], c: in.Args[1], name: name})
	case in.Where != "":
		add(record{kind: kWork, name: x.names.of("in " + in.Where)})
	}
	add(record{kind: kSwitch, a: asleep})
	t.now.work = -1
}
