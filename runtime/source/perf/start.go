package perf

import (
	"context"
	"errors"
	"slices"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/system/poll"
	"ppscript/runtime/text/diag"

	"golang.org/x/sys/unix"
)

// start opens and starts the events. With counting, there are no rings and
// records.
func (s *Source) start(ctx context.Context, counting bool) (err error) {
	s.counting, s.rest.src = counting, s
	removeInstances(s.cfg.Tracefs)
	w := s.cfg.Target.Workload
	if w != nil {
		if err = w.Start(); err != nil {
			return err
		}
		s.tasks.workload = w
	}
	if err = s.attach(ctx); err != nil {
		return err
	}
	s.makeStreams()
	if !s.cfg.Overwrite {
		s.addSpools(s.cfg.Spool)
	}
	if len(s.streams) == 0 && len(s.live) == 0 {
		return errors.Join(s.warnings...) // all events are optional
	}
	if s.poll, err = poll.New(s.filled); err != nil {
		return err
	}
	if s.plug != nil || counting {
		s.poll.HearCPUs()
	}
	s.pollFD = slices.Clone(s.open.owner)
	s.cursor = make([]int, len(s.pollFD))
	s.opened = len(s.open.fds)
	for i, r := range s.open.rings {
		if r == nil {
			continue
		}
		if err = s.poll.Add(s.pollFD[i], i); err != nil {
			return err
		}
	}
	if err = s.openBuffers(); err != nil {
		return err
	}
	if err = s.watchTargets(); err != nil {
		return err
	}
	if w == nil || s.cfg.Target.System || s.att.family != nil || s.cfg.projected() {
		if err = s.open.enable(); err != nil {
			return err
		}
		s.open.begin()
	} // otherwise the command's execve enables all events at once
	s.pump.begin() // the first Poll may come late
	if err = s.attachPrograms(); err != nil || w == nil {
		return err
	}
	return w.Release()
}

// attachTries bounds the attempts for a process that makes threads faster than
// they can be attached.
const attachTries = 5

// attach opens the events, disabled. A thread that is made meanwhile may or may
// not have inherited the events, depending on the thread that made it, and there
// is no way to find out. So if there is such a thread, all events are opened
// again. A thread that is being made when the last event opens is listed a moment
// later, so the threads are listed twice.
//
// If a CPU goes offline meanwhile, all events are opened again without this CPU: events
// that were opened there are detached, and it may come back before the next event is
// opened.
func (s *Source) attach(ctx context.Context) (err error) {
	var away []int
	for try := 1; ; try++ {
		begun := time.Now()
		s.plug = newPlug(&s.cfg, away) // before they are opened
		var warnings []error
		warn := func(err error) { warnings = append(warnings, err) }
		for _, cpu := range away {
			warn(offline(cpu))
		}
		if s.att, err = s.cfg.resolve(away, warn); err != nil {
			return err
		}
		if s.counting && s.att.family != nil {
			return uncountable()
		}
		if s.counting {
			s.att.unbind(&s.cfg)
		}
		s.open = &opener{cfg: &s.cfg, att: s.att, warn: warn, hooked: s.hooked, plug: s.plug}
		err = s.open.openAll(ctx, s.counting)
		var gone *goneCPU
		if errors.As(err, &gone) && !slices.Contains(away, gone.cpu) {
			away, try = append(away, gone.cpu), try-1
			s.att.close()
			if err = s.open.close(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		fresh := s.att.newThreads()
		if fresh == 0 && s.att.mode == "pid" {
			time.Sleep(min(max(time.Since(begun)/4, time.Millisecond), 20*time.Millisecond))
			fresh = s.att.newThreads()
		}
		if fresh > 0 && try < attachTries {
			s.att.close()
			if err = s.open.close(); err != nil {
				return err
			}
			continue
		}
		if !s.att.onCPUs() {
			s.plug = nil
		}
		for _, w := range warnings {
			s.warn(w)
		}
		if s.counting && s.open.strays() {
			s.warn(&diag.Unsupported{Feature: "counting threads without child processes", Since: "5.13",
				Instead: "child processes are counted too"})
		}
		if fresh > 0 {
			s.warn(diag.Errorf(diag.Attach, "attach", "processes",
				"%d threads were made meanwhile and may be missing", fresh).
				WithHint("attach to CPUs and filter by pid to be sure"))
		}
		return nil
	}
}

func (s *Source) warn(err error) {
	s.warnings = append(s.warnings, err)
	if s.cfg.Warn != nil {
		s.cfg.Warn(err)
	}
}

// makeStreams makes a stream for each event that opened, and a decoder for each
// ring, with the ids of its events.
func (s *Source) makeStreams() {
	s.byEvent = make([]*event.Stream, len(s.cfg.Events))
	s.aside = !s.cfg.SideBand.Events
	s.layouts = make(map[int]*Layout)
	for _, m := range s.open.members(false) {
		if s.open.noLost {
			m.attr.Read_format &^= unix.PERF_FORMAT_LOST
		}
		s.layouts[m.index] = NewLayout(FormatOf(&m.attr))
	}
	opened := make(map[int]bool)
	for _, f := range s.open.fds {
		opened[f.stream] = true
	}
	for i := range s.cfg.Events {
		ev := &s.cfg.Events[i]
		if !opened[i] && ev.Projection == nil {
			continue
		}
		s.byEvent[i] = &event.Stream{
			Index: len(s.streams), Schema: ev.Schema, Label: ev.name(), Members: s.layouts[i],
		}
		switch {
		case ev.Projection == nil && ev.Period > 1 && s.layouts[i].period == 0:
			s.byEvent[i].Members = &FixedPeriod{s.layouts[i], ev.Period}
		case ev.Projection != nil:
			s.byEvent[i].Members = ev.Projection.Members(&s.late)
		}
		s.streams = append(s.streams, s.byEvent[i])
	}
	for _, r := range s.cfg.Programs.Records {
		st := &event.Stream{Index: len(s.streams), Schema: r.Schema, Label: r.Label}
		s.streams, s.byRecord = append(s.streams, st), append(s.byRecord, st)
	}
	for i := range s.open.fds {
		if f := &s.open.fds[i]; s.open.rings[f.ring] != nil { // without a ring the event is only counted
			s.decodes(s.open.rings[f.ring], f)
		}
	}
	for _, r := range s.open.rings {
		if r != nil {
			s.addRing(r)
		}
	}
}

// decodes adds the event to the ring's decoder.
func (m *openStreams) decodes(r *ring, f *eventFD) {
	if r.dec == nil {
		r.dec = NewDecoder(m.layouts[f.stream])
		r.dec.aside = m.aside
	}
	if f.stream < 0 && f.counts && m.aside {
		r.aside.dummies = append(r.aside.dummies, *f)
	}
	if f.stream >= 0 {
		r.dec.aside = false
		r.dec.Add(f.id, m.byEvent[f.stream], m.layouts[f.stream])
	}
}

// addRing adds a ring of the kernel to the source.
func (s *Source) addRing(r *ring) {
	r.index = int32(len(s.rings))
	r.family = s.att.family
	if s.open.strays() {
		for _, pid := range s.att.pids {
			r.only = append(r.only, int32(pid))
		}
	}
	s.live = append(s.live, r)
	s.rings = append(s.rings, r)
}
