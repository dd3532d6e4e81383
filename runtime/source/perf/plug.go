package perf

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/text/diag"
)

// This file follows CPUs that go offline and come back, or come online for the
// first time. When a CPU goes offline, the kernel detaches its events without a
// notice, and does not attach them again. So the mask of online CPUs is checked
// from time to time, and the events are opened again. Events of the CPU between
// its return and that moment are lost. Their number is unknown; they count as at
// least one lost event.
//
// Events of tasks on a CPU survive its absence. They are missing only on CPUs
// that were not online when the events were opened.

// plugEvery is the interval of checks, plugHeard the interval if the kernel reports
// CPUs that come online. Reading the mask takes some microseconds.
const (
	plugEvery = 100 * time.Millisecond
	plugHeard = 10 * time.Second
)

// plug is the known state of the CPUs.
type plug struct {
	next time.Time
	// looked is the time of the previous check of the CPUs, looks the time of the
	// present one.
	looked, looks time.Time
	// since has, for each wanted CPU that is online, the value of
	// kernel.OnlineSince: when it came online.
	since     map[int]uint64
	gaps      uint64       // number of times that a CPU came online and its first events were missed
	announced map[int]bool // CPUs whose events did not open, and for which a warning was given
	same      map[uint64]uint64
}

// newPlug reads the CPUs that are online now, without those in away; nil if that fails.
// CPUs in away are treated as new at the next check.
func newPlug(c *Config, away []int) *plug {
	p := &plug{looks: time.Now(), announced: map[int]bool{}, same: map[uint64]uint64{}}
	var err error
	if p.since, err = p.online(c); err != nil {
		return nil
	}
	for _, cpu := range away {
		delete(p.since, cpu)
	}
	return p
}

// A goneCPU is the error if an event did not open on a CPU because the CPU has gone
// offline since the CPUs were listed.
type goneCPU struct {
	cpu int
	error
}

func (g *goneCPU) Unwrap() error { return g.error }

// wentOffline reports that an event did not open on a place because its CPU has gone
// offline. That includes a CPU that is back already, since events that were opened there
// before are detached.
func (o *opener) wentOffline(p place, err error) bool {
	if p.cpu < 0 || o.plug == nil || !errors.Is(err, unix.ENODEV) {
		return false
	}
	was, listed := o.plug.since[p.cpu]
	now, unread := kernel.OnlineSince(kernel.Roots{})
	since, online := now[p.cpu]
	return unread == nil && listed && (!online || since != was) || opensNothing(p.cpu)
}

// opensNothing reports that no event opens on a CPU. This is so for a while before the
// list of online CPUs lacks the CPU, and after the list has it again.
func opensNothing(cpu int) bool {
	a := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY,
		Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	return tryOn(&a, -1, cpu) == unix.ENODEV
}

// offline returns the warning for a CPU that went offline.
func offline(cpu int) error {
	return diag.Errorf(diag.Run, "watch", "CPUs", "CPU %d went offline; nothing is missed while it is", cpu)
}

// online returns the wanted CPUs that are online.
func (p *plug) online(c *Config) (map[int]uint64, error) {
	since, err := kernel.OnlineSince(kernel.Roots{})
	if t := &c.Target; t.CPUs != nil {
		maps.DeleteFunc(since, func(cpu int, _ uint64) bool { return !slices.Contains(t.CPUs, cpu) })
	}
	return since, err
}

// follow opens the events on CPUs that have come online.
func (s *Source) follow(now time.Time) {
	p := s.plug
	if p == nil || s.stopped || now.Before(p.next) && !s.poll.CPUs {
		return
	}
	p.next = now.Add(plugEvery)
	if s.poll.HearsCPUs() {
		p.next = now.Add(plugHeard)
	}
	since, err := p.online(&s.cfg)
	if err != nil {
		return // the next check may succeed
	}
	p.looked, p.looks = p.looks, now
	for _, cpu := range slices.Sorted(maps.Keys(p.since)) {
		if _, ok := since[cpu]; !ok {
			delete(p.since, cpu)
			s.warn(offline(cpu))
		}
	}
	for _, cpu := range slices.Sorted(maps.Keys(since)) {
		if was, ok := p.since[cpu]; ok && was == since[cpu] {
			continue
		}
		gap, err := s.openCPU(cpu)
		switch {
		case errors.Is(err, unix.ENODEV): // offline again
		case err != nil && !p.announced[cpu]:
			p.announced[cpu] = true
			s.warn(err)
		case err == nil:
			p.since[cpu] = since[cpu]
			s.bells.Close() // they are made again, including the new CPU
			delete(p.announced, cpu)
			if gap {
				p.gaps++
				s.warn(diag.Errorf(diag.Run, "watch", "CPUs",
					"CPU %d came online; its events until now are missing; their number is unknown and counts as 1 lost",
					cpu))
			}
		}
	}
}

// Gaps returns the number of times that a CPU came online and its first events
// were missed. The rings also report them as losses.
func (s *Source) Gaps() uint64 {
	if s.plug == nil {
		return 0
	}
	return s.plug.gaps
}

// SameID returns the id in Opened for an event that was opened later on a CPU
// that came online; other ids are returned unchanged.
func (s *Source) SameID(id uint64) uint64 {
	if s.plug == nil {
		return id
	}
	return s.plug.sameID(id)
}

// openCPU opens the events on a CPU that came online. gap says that earlier
// events may be missing.
func (s *Source) openCPU(cpu int) (gap bool, err error) {
	i := slices.IndexFunc(s.att.rings, func(k ringKey) bool { return k.cpu == cpu })
	known := i >= 0
	if known && s.att.inherit {
		return false, nil // events of tasks survive the CPU's absence
	}
	if !known {
		i = s.addPlaces(cpu)
	}
	if s.cfg.projected() && !known {
		// Programs count the records that they could not send before.
		if err := s.openBuffer(cpu); err != nil {
			return false, err
		}
	}
	old := s.open.rings[i]
	s.open.rings[i] = nil
	from := len(s.open.fds)
	if err := s.openAgain(cpu); err != nil {
		s.open.drop(from)
		s.open.rings[i] = old
		if !known {
			s.dropPlaces(i)
		}
		return false, err
	}
	if len(s.open.fds) == from {
		s.open.rings[i] = old
		return false, nil // programs send all
	}
	err = s.takeOver(i, from, old)
	s.opened = len(s.open.fds)
	if s.off && err == nil {
		err = s.open.turn(false)
	}
	return true, err
}

// addPlaces adds a CPU to the attachment, with copies of the places of another
// CPU.
func (s *Source) addPlaces(cpu int) (ring int) {
	a := s.att
	ring = len(a.rings)
	a.rings = append(a.rings, ringKey{cpu, -1})
	like := a.places[slices.IndexFunc(a.places, func(p place) bool { return p.cpu >= 0 })].cpu
	for _, p := range a.places {
		if p.cpu == like {
			p.cpu, p.ring = cpu, ring
			a.places = append(a.places, p)
		}
	}
	for _, tid := range a.later() {
		a.places = append(a.places, place{pid: tid, cpu: cpu, ring: ring})
	}
	s.open.rings = append(s.open.rings, nil)
	s.open.owner = append(s.open.owner, 0)
	s.pollFD, s.cursor = append(s.pollFD, -1), append(s.cursor, 0)
	return ring
}

// dropPlaces undoes addPlaces.
func (s *Source) dropPlaces(ring int) {
	s.att.rings = s.att.rings[:ring]
	s.att.places = slices.DeleteFunc(s.att.places, func(p place) bool { return p.ring == ring })
	s.open.rings, s.open.owner = s.open.rings[:ring], s.open.owner[:ring]
	s.pollFD, s.cursor = s.pollFD[:ring], s.cursor[:ring]
}

// later returns the threads of the target's processes that were made after the
// target was resolved. On a new CPU they have not inherited events.
func (a *attachment) later() (tids []int) {
	if !a.inherit {
		return nil
	}
	for _, pid := range a.pids {
		all, _ := taskDir(pid)
		for _, tid := range all {
			if !slices.Contains(a.tids, tid) {
				tids = append(tids, tid)
			}
		}
	}
	return tids
}

// openAgain opens the events of a CPU, and starts them.
func (s *Source) openAgain(cpu int) error {
	o := s.open
	from, leaders := len(o.fds), len(o.leaders)
	ms := o.members(s.counting)
	for i := range ms {
		m := &ms[i]
		if m.ev.Projection != nil || m.ev.CPUs != nil && !slices.Contains(m.ev.CPUs, cpu) ||
			m.index >= 0 && s.byEvent[m.index] == nil {
			continue
		}
		for _, p := range s.att.places {
			if p.cpu != cpu {
				continue
			}
			err := o.openOne(m, p, s.counting)
			if err != nil && !(errors.Is(err, unix.ESRCH) && p.pid > 0 && p.flags == 0) {
				return err
			}
		}
	}
	for _, fd := range o.leaders[leaders:] {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	for _, f := range o.fds[from:] {
		if err := unix.IoctlSetInt(f.fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	return nil
}

// takeOver replaces the detached events of the ring, if any, by the events that
// were opened at index from and later.
func (s *Source) takeOver(i, from int, old *ring) error {
	o := s.open
	fresh := slices.Clone(o.fds[from:])
	o.fds = o.fds[:from]
	var lost uint64
	for _, f := range fresh {
		at := slices.IndexFunc(o.fds, func(have eventFD) bool {
			return have.stream == f.stream && have.place == f.place
		})
		if at < 0 {
			s.plug.alias(&f, s.open.fds)
			o.fds = append(o.fds, f)
			continue
		}
		was := &o.fds[at]
		if was.counts && old != nil {
			n, _ := was.readLost()
			lost += n
			old.aside.close(was, n)
		}
		if s.counting {
			f.carry(was)
		}
		s.plug.same[f.id] = s.SameID(was.id)
		delete(s.plug.same, was.id)
		if old != nil && s.pollFD[i] == was.fd {
			s.poll.Remove(was.fd)
			s.pollFD[i] = -1
		}
		unix.Close(was.fd)
		*was = f
	}
	if s.counting {
		return nil
	}
	made := o.rings[i]
	l := loss{id: s.SameID(fresh[0].id), count: 1}
	if l.until, _, _ = ReadClock(context.Background(), s.cfg.Clock); l.until != 0 {
		l.since = l.until - event.Time(time.Since(s.plug.looked))
	}
	if old == nil {
		made.beginWithLoss(l)
		for k := range fresh {
			s.decodes(made, &fresh[k])
		}
		s.addRing(made)
		s.spoolLater(made)
	} else {
		for k := range fresh {
			s.decodes(old, &fresh[k])
		}
		o.rings[i] = old
		l.count += old.untold(lost)
		if err := old.continueIn(made, l); err != nil {
			return err
		}
	}
	if s.pollFD[i] < 0 {
		s.pollFD[i], s.cursor[i] = o.owner[i], 0
		return s.poll.Add(o.owner[i], i)
	}
	return nil
}

// alias records that the id of an event on a new CPU stands for the id of the
// same event on another CPU, which is in fds.
func (p *plug) alias(f *eventFD, fds []eventFD) {
	for _, have := range fds {
		if have.stream == f.stream {
			p.same[f.id] = p.sameID(have.id)
			return
		}
	}
}

func (p *plug) sameID(id uint64) uint64 {
	if known, ok := p.same[id]; ok {
		return known
	}
	return id
}

// untold returns the number of lost records, of events that were closed, for
// which the ring has no LOST record. From then on, carried has the sum of the
// ring's LOST records, which are thereby settled.
func (r *ring) untold(lost uint64) uint64 {
	if r.backward {
		return lost
	}
	if r.spool != nil {
		r.spool.take(r)
	}
	said := r.lostSeen + r.lostWaiting()
	before := said - r.carried
	r.carried = said
	return lost - min(lost, before)
}

// carry makes a counter continue from the value of the counter that it
// replaces.
func (f *eventFD) carry(was *eventFD) {
	f.base = was.base
	var b [24]byte // value, time enabled, time running
	if n, err := unix.Read(was.fd, b[:]); err == nil && n == len(b) {
		for i := range f.base {
			f.base[i] += binary.LittleEndian.Uint64(b[8*i:])
		}
	}
}
