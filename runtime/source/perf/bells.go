package perf

import (
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/poll"
)

// This file lets the reader sleep while there are no events. A bell is an additional
// counter of an event that wakes the reader at the first hit; see package poll.
// Buffers of programs need no bells: programs wake the reader when a number of bytes
// waits, which is set to one while the reader sleeps.

const (
	// quietRounds is the number of consecutive looks without records after
	// which the bells are switched on. The reader looks once more soon after
	// that.
	quietRounds = 3
	// firstLook is the time before the first look, short so that the user sees the first events at
	// once. The time before each next look is doubled, up to drainEvery.
	firstLook = 10 * time.Millisecond
	// dozeEvery is the interval of looks if events cannot have bells.
	dozeEvery = 500 * time.Millisecond
	// sleepTime bounds the sleep of the reader; glanceTime bounds it if the
	// kernel does not report CPUs that come online.
	sleepTime  = 10 * time.Second
	glanceTime = time.Second
	// mostBells bounds the descriptors, and the time to switch them on.
	mostBells = 256
	// bellLag bounds the time from a bell to the record of its event, since the
	// kernel delivers a hit to one counter after the other.
	bellLag = time.Millisecond
)

// A rest is the state of a reader that finds no records.
type rest struct {
	src   *Source
	quiet int // consecutive looks that found nothing
	looks int // number of looks, for the shorter times at the begin
	bells poll.Bells
	// hopeless says that some event cannot have a bell.
	hopeless bool
	awaited  []int // descriptors of the processes of AwaitEnds
}

// Idle reports that no records have come for a while, so that Poll may get a
// longer timeout: new records wake it.
func (r *rest) Idle() bool { return r.quiet > quietRounds }

// Wake ends a Poll that waits, or the next one. Any goroutine may call it until
// Close.
func (r *rest) Wake() { r.src.poll.Ring() }

// AwaitEnds makes Poll return when one of the processes ends; the source goes
// on. It reports whether this works for all of them.
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

// SawEnds reports that all processes of AwaitEnds have ended, even if their parents
// have not read their status.
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

// unread reports that no records can be read before the end of the run.
func (r *rest) unread() bool { return len(r.src.rings) == 0 || r.src.cfg.Overwrite }

// step returns the longest sleep before the next look.
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

// found records whether a look found records.
func (r *rest) found(some bool) {
	r.looks++
	if some {
		r.quiet = 0
		r.silence()
	} else if r.quiet++; r.quiet == quietRounds && !r.bells.On && !r.hopeless && !r.unread() {
		r.listen()
	}
}

// listen makes the next event wake the reader.
func (r *rest) listen() {
	r.hopeless = !r.setWake(1) || r.bells.Len() == 0 && !r.makeBells() || !r.bells.Switch(true)
	r.bells.On = true
	if r.hopeless {
		r.silence()
		r.bells.Close()
	}
}

// silence switches the bells off, so that rings wake the reader at the
// watermark again.
func (r *rest) silence() {
	if r.bells.On {
		r.bells.Switch(false)
		r.setWake(r.src.cfg.buffered())
	}
}

// setWake sets the number of waiting bytes at which programs wake the reader.
func (r *rest) setWake(bytes int) bool {
	for _, b := range r.src.buffers {
		if wake := r.src.cfg.Programs.Wake; wake == nil || wake(int(b.cpu), bytes) != nil {
			return false
		}
	}
	return true
}

// filled reports that some ring has reached the watermark with new records since
// the last look, or that a bell rang.
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

// canHaveBell reports that an event can have a bell: it counts single occurrences
// and uses no scarce resource. A probe cannot, since it would be inserted a second
// time.
func (e *EventConfig) canHaveBell(a *unix.PerfEventAttr) bool {
	return (a.Type == unix.PERF_TYPE_TRACEPOINT || a.Type == unix.PERF_TYPE_SOFTWARE && counts(e.Schema)) &&
		e.Program == 0 && a.Sample == 1 && a.Bits&unix.PerfBitFreq == 0
}

// makeBells opens the bells, switched off. Either all events get one, or none.
func (r *rest) makeBells() bool {
	o := r.src.open
	if r.src.cfg.Prompt || len(r.src.live) == 0 {
		return true // all records wake the reader already
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
			continue // side records can wait
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
			// A thread that has ended and a CPU that is offline need no bell.
			if err != nil && err != unix.ESRCH && err != unix.ENODEV {
				return false
			}
		}
	}
	return true
}
