package perf

import (
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/poll"
)

// This file lets the reader sleep while nothing happens; package poll says how. What
// programs send needs no bells: they are told how many bytes have to wait before
// they wake the reader: one, while it sleeps.

const (
	// quietRounds is how many looks have to find nothing before the bells are
	// switched on; the reader still looks once more soon after that.
	quietRounds = 3
	// firstLook is how soon is looked for the first time, so that a person who begins a run sees at once
	// that something comes; each of the next looks comes after twice that, up to drainEvery.
	firstLook = 10 * time.Millisecond
	// dozeEvery is how often is looked at events that can have no bells.
	dozeEvery = 500 * time.Millisecond
	// sleepTime is how long the reader sleeps at most, and glanceTime where
	// nothing tells of CPUs that come.
	sleepTime  = 10 * time.Second
	glanceTime = time.Second
	// mostBells bounds the descriptors, and the time to switch them on.
	mostBells = 256
	// bellLag is how much later than a bell its event may come: the kernel hands
	// the occurrence to one after the other.
	bellLag = time.Millisecond
)

// A rest is how long a reader has found nothing.
type rest struct {
	src   *Source
	quiet int // looks that found nothing, one after the other
	looks int // of the first, which come sooner
	bells poll.Bells
	// hopeless says that not all events can have a bell.
	hopeless bool
	awaited  []int // descriptors of the processes of AwaitEnds
}

// Idle reports that nothing has come for a while, and that Poll may be given more
// time: what comes wakes it.
func (r *rest) Idle() bool { return r.quiet > quietRounds }

// Wake ends a Poll that waits, or the next one. It may be called by others than
// the reader, until Close.
func (r *rest) Wake() { r.src.poll.Ring() }

// AwaitEnds has Poll return when one of the processes ends, which ends nothing
// else. It reports whether it does for all of them.
func (r *rest) AwaitEnds(pids []int) bool {
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			return false
		}
		r.src.tasks.pidfds = append(r.src.tasks.pidfds, fd)
		r.awaited = append(r.awaited, fd)
		if r.src.poll.Edge(fd, poll.End) != nil {
			return false
		}
	}
	return true
}

// SawEnds reports that all processes of AwaitEnds have ended, whether or not somebody
// has collected their status.
func (r *rest) SawEnds() bool {
	if r.src.poll == nil || !r.src.poll.Ended {
		return false
	}
	for _, fd := range r.awaited {
		if n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); n != 1 {
			return false
		}
	}
	return true
}

// unread reports that there is nothing to read before the end.
func (r *rest) unread() bool { return len(r.src.rings) == 0 || r.src.cfg.Overwrite }

// step is how long may be slept before the next look.
func (r *rest) step() time.Duration {
	switch {
	case len(r.src.tasks.lookFor) > 0 || r.quiet <= quietRounds && !r.unread():
		return min(drainEvery, firstLook<<min(r.looks, 8))
	case !r.bells.On && !r.unread():
		return dozeEvery
	case (r.src.plug != nil || len(r.src.rings) == 0) && !r.src.poll.HearsCPUs():
		return glanceTime
	}
	return sleepTime
}

// found notes whether a look found something.
func (r *rest) found(some bool) {
	r.looks++
	if some {
		r.quiet = 0
		r.silence()
	} else if r.quiet++; r.quiet == quietRounds && !r.bells.On && !r.hopeless && !r.unread() {
		r.listen()
	}
}

// listen has the next event wake the reader.
func (r *rest) listen() {
	r.hopeless = !r.setWake(1) || r.bells.Len() == 0 && !r.makeBells() || !r.bells.Switch(true)
	r.bells.On = true
	if r.hopeless {
		r.silence()
		r.bells.Close()
	}
}

// silence has the rings wake the reader when they are filled, as usual.
func (r *rest) silence() {
	if r.bells.On {
		r.bells.Switch(false)
		r.setWake(r.src.cfg.buffered())
	}
}

// setWake tells the programs how many bytes have to wait.
func (r *rest) setWake(bytes int) bool {
	for _, b := range r.src.buffers {
		if wake := r.src.cfg.Programs.Wake; wake == nil || wake(int(b.cpu), bytes) != nil {
			return false
		}
	}
	return true
}

// filled reports that some ring holds so much that the kernel has woken the reader,
// with something new since the last look, or that a bell rang.
func (r *rest) filled() bool {
	if r.unread() {
		return false
	}
	wake := uint64(r.src.cfg.wakeBytes())
	for _, g := range r.src.live {
		if shown := g.readable(); shown-g.pos >= wake && shown != g.visible {
			return true
		}
	}
	wake = uint64(r.src.cfg.buffered())
	for _, b := range r.src.buffers {
		if head := b.Head(); head-b.pos >= wake && head != b.visible {
			return true
		}
	}
	return r.bells.Rang()
}

// canHaveBell reports that an event can have a bell: it counts single occurrences,
// and takes nothing that is scarce. A probe would be set a second time.
func (e *EventConfig) canHaveBell(a *unix.PerfEventAttr) bool {
	return (a.Type == unix.PERF_TYPE_TRACEPOINT || a.Type == unix.PERF_TYPE_SOFTWARE && counts(e.Schema)) &&
		e.Program == 0 && a.Sample == 1 && a.Bits&unix.PerfBitFreq == 0
}

// makeBells opens the bells, switched off. All events get one, or none does.
func (r *rest) makeBells() bool {
	o := r.src.open
	if r.src.cfg.Prompt || len(r.src.live) == 0 {
		return true // all wake as it is
	}
	if len(o.fds) > mostBells {
		return false
	}
	members := map[int]member{}
	for _, m := range o.members(false) {
		members[m.index] = m
	}
	threads := map[place]bool{}
	for i := range o.fds {
		f := &o.fds[i]
		m, thread := members[f.stream], f.place.pid > 0 && f.place.flags == 0
		if f.stream < 0 || thread && o.dead[f.place.pid] {
			continue // records about tasks can wait
		}
		attrs, filter := []unix.PerfEventAttr{poll.BellOf(m.attr)}, m.ev.Filter
		if !m.ev.canHaveBell(&m.attr) {
			if !thread {
				return false
			}
			if threads[f.place] {
				continue
			}
			threads[f.place] = true
			attrs, filter = poll.ThreadBells(&m.attr,
				unix.PerfBitInherit|bitInheritThread|unix.PerfBitUseClockID), ""
		}
		for k := range attrs {
			raise := func() (int, error) { return o.perfEventOpen(&attrs[k], f.place, -1) }
			err := r.bells.Open(r.src.poll, f.ring, filter, raise)
			// A thread that has ended, and a CPU that is offline, need none.
			if err != nil && err != unix.ESRCH && err != unix.ENODEV {
				return false
			}
		}
	}
	return true
}
