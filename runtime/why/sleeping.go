package why

import "ppscript/runtime/event"

// This file handles threads that sleep during a whole history, so that they
// have no events.

// A Standing is the state of a thread at a time, from /proc. If two are equal and Asleep, the
// thread slept all the time in between, since waking up would have changed Switches.
type Standing struct {
	Asleep   bool
	Switches uint64 // how often it left its CPU
	// Call is the system call in which it sleeps, and Args the first arguments; -1 if unknown.
	Call int64
	Args [2]uint64
	// Where is the function of the kernel in which it sleeps; "" if unknown.
	Where string
}

// Asleep adds that a thread without events has slept in this state since a time.
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
