package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/diag"
	"ppscript/runtime/event"
)

// A Source is the live door: it implements event.Source over the rings of
// perf_event_open. It is used by one goroutine; only Stop's effect, that Poll
// returns io.EOF, may be asked for by cancelling Poll's context.
type Source struct {
	cfg     Config
	att     *attachment
	open    *opener
	streams []*event.Stream
	byEvent []*event.Stream // by index in Config.Events, nil if it did not open
	live    []*ring
	rings   []event.Ring

	poll     *poller
	pollFD   []int // by ring of the attachment: the descriptor that poll watches
	cursor   []int // and where in open.fds to look for the next one
	opened   int   // descriptors
	warnings []error
	stopped  bool // the events are disabled, what is in the rings is all
	eof      bool
	counting bool // for Counters

	workload *Workload
	pidfds   []int
	living   int // pidfds whose process has not ended
	allGone  bool
	lookFor  []int // tasks without a pidfd

	wakeups uint64
}

// pidTag and below are the poller's tags of pidfds.
const pidTag = -16

var (
	_ event.Source  = (*Source)(nil)
	_ event.Ring    = (*ring)(nil)
	_ event.Members = (*Layout)(nil)
)

// Open opens the events of cfg on its target and starts them. On an error
// nothing stays open. Close releases the source.
func Open(ctx context.Context, cfg Config) (*Source, error) {
	s := &Source{cfg: cfg}
	if err := s.cfg.check(); err != nil {
		return nil, err
	}
	if err := s.start(ctx, false); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start opens and starts everything; counting leaves out rings and records.
func (s *Source) start(ctx context.Context, counting bool) (err error) {
	s.counting = counting
	w := s.cfg.Target.Workload
	if w != nil {
		if err = w.start(); err != nil {
			return err
		}
		s.workload = w
	}
	if err = s.attach(ctx); err != nil {
		return err
	}
	s.makeStreams()
	if len(s.streams) == 0 && len(s.live) == 0 {
		return errors.Join(s.warnings...) // all are optional
	}
	if s.poll, err = newPoller(); err != nil {
		return err
	}
	s.pollFD = slices.Clone(s.open.owner)
	s.cursor = make([]int, len(s.pollFD))
	s.opened = len(s.open.fds)
	for i, r := range s.open.rings {
		if r == nil {
			continue
		}
		if err = s.poll.add(s.pollFD[i], i); err != nil {
			return err
		}
	}
	if err = s.watchTargets(); err != nil {
		return err
	}
	if w == nil {
		return s.open.enable()
	}
	if s.cfg.Target.System {
		if err = s.open.enable(); err != nil {
			return err
		}
	} // else the command's execve enables
	return w.release()
}

// attachTries is how often a process whose threads come faster than we attach
// is tried.
const attachTries = 5

// attach opens the events, disabled. Threads that a process makes meanwhile
// have or have not inherited the events, depending on which thread made them,
// and nothing tells: with any such thread all is opened again.
func (s *Source) attach(ctx context.Context) (err error) {
	for try := 1; ; try++ {
		var warnings []error
		warn := func(err error) { warnings = append(warnings, err) }
		if s.att, err = s.cfg.resolve(warn); err != nil {
			return err
		}
		s.open = &opener{cfg: &s.cfg, att: s.att, warn: warn}
		err = s.open.openAll(ctx, s.counting)
		s.att.close()
		if err != nil {
			return err
		}
		fresh := s.att.newThreads()
		if fresh > 0 && try < attachTries {
			if err = s.open.close(); err != nil {
				return err
			}
			continue
		}
		for _, w := range warnings {
			s.warn(w)
		}
		if fresh > 0 {
			s.warn(diag.Errorf(diag.Attach, "attach", "processes", "%d threads were made meanwhile and may be missing", fresh).
				WithHint("attach to CPUs and filter by pid to be sure"))
		}
		return nil
	}
}

// watchTargets has Poll look out for the end of the workload, or of all
// processes. Rings tell that too, but not those of whole CPUs, nor when
// children live on that were not meant.
func (s *Source) watchTargets() error {
	pids, flags := s.att.watch, 0
	t := &s.cfg.Target
	switch {
	case s.workload != nil:
		pids = []int{s.workload.process.Pid}
	case s.counting && len(t.TIDs) > 0:
		pids, flags = t.TIDs, unix.O_EXCL // PIDFD_THREAD
	case s.counting:
		pids = t.PIDs
	}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, flags)
		if err == unix.EINVAL || err == unix.ENOSYS {
			// Before 5.3, before 6.9 for threads. Rings tell it all the same;
			// counters look from time to time.
			s.lookFor = append(s.lookFor, pid)
		}
		if err != nil {
			continue // ESRCH: gone already
		}
		s.pidfds = append(s.pidfds, fd)
		if err := s.poll.add(fd, pidTag-len(s.pidfds)); err != nil {
			return err
		}
		s.poll.watched-- // counted by living
		s.living++
	}
	return nil
}

func (s *Source) warn(err error) {
	s.warnings = append(s.warnings, err)
	if s.cfg.Warn != nil {
		s.cfg.Warn(err)
	}
}

// makeStreams gives each event that opened a stream, and each ring a decoder
// that knows the ids in it.
func (s *Source) makeStreams() {
	s.byEvent = make([]*event.Stream, len(s.cfg.Events))
	layouts := make(map[int]*Layout)
	for _, m := range s.open.members(false) {
		if s.open.noLost {
			m.attr.Read_format &^= unix.PERF_FORMAT_LOST
		}
		layouts[m.index] = NewLayout(formatOf(&m.attr))
	}
	opened := make(map[int]bool)
	for _, f := range s.open.fds {
		opened[f.stream] = true
	}
	for i := range s.cfg.Events {
		if !opened[i] {
			continue
		}
		ev := &s.cfg.Events[i]
		s.byEvent[i] = &event.Stream{Index: len(s.streams), Schema: ev.Schema, Label: ev.name(), Members: layouts[i]}
		s.streams = append(s.streams, s.byEvent[i])
	}
	for _, f := range s.open.fds {
		r := s.open.rings[f.ring]
		if r == nil {
			continue // counting
		}
		if r.dec == nil {
			r.dec = NewDecoder(layouts[f.stream])
		}
		if f.stream >= 0 {
			r.dec.Add(f.id, s.byEvent[f.stream], layouts[f.stream])
		}
	}
	for _, r := range s.open.rings {
		if r != nil {
			r.index = int32(len(s.live))
			s.live = append(s.live, r)
			s.rings = append(s.rings, r)
		}
	}
}

// Streams implements event.Source: what was opened, in the order of
// Config.Events.
func (s *Source) Streams() []*event.Stream { return s.streams }

// StreamOf returns the stream of Config.Events[i], nil if that event is
// optional and did not open.
func (s *Source) StreamOf(i int) *event.Stream { return s.byEvent[i] }

// Rings implements event.Source.
func (s *Source) Rings() []event.Ring { return s.rings }

// Warnings are what was skipped at Open.
func (s *Source) Warnings() []error { return s.warnings }

// drainEvery bounds how long records below the watermark wait.
const drainEvery = 100 * time.Millisecond

// Poll implements event.Source. It returns early when a ring has filled up to
// the watermark, and after 100 ms when there is anything at all. When the
// targets are gone or Stop was called it returns io.EOF, and ctx's error when
// that is done; the bounds are set in either case.
func (s *Source) Poll(ctx context.Context, timeout time.Duration) error {
	if s.eof {
		if s.poll != nil { // not closed
			s.look()
		}
		return io.EOF
	}
	deadline := time.Now().Add(timeout)
	for {
		if err := ctx.Err(); err != nil {
			s.look()
			return err
		}
		left := time.Until(deadline)
		if s.stopped {
			left = 0
		}
		woken, err := s.poll.wait(ctx, min(left, drainEvery))
		if err != nil {
			return fmt.Errorf("wait for rings: %w", err)
		}
		if woken {
			s.wakeups++
		}
		s.hangups()
		if s.stopped || s.ended() {
			if err := s.finish(); err != nil {
				return err
			}
			s.look()
			return io.EOF
		}
		if s.look() || left <= drainEvery {
			return ctx.Err()
		}
	}
}

// settle is how long the second look waits after the first. A record is
// stamped a little before it becomes visible; whoever stamped before the
// first look has published by then, unless an interrupt came in between.
const settle = 10 * time.Microsecond

// look moves the bounds of all rings and reports whether there is anything to
// read.
func (s *Source) look() bool {
	some := false
	for _, r := range s.live {
		r.first = r.shown()
		some = some || r.first != r.pos
	}
	if some && len(s.live) > 1 && !s.eof {
		for start := time.Now(); time.Since(start) < settle; {
		}
	}
	for _, r := range s.live {
		r.visible = r.shown()
		r.known = r.first
		if len(s.live) == 1 {
			r.known = r.visible
		}
		some = some || r.visible != r.pos
		r.stat.PeakBytes = max(r.stat.PeakBytes, r.visible-r.pos)
	}
	return some
}

// Stop disables the events. The next Poll shows what is left and returns
// io.EOF.
func (s *Source) Stop() error {
	if s.stopped {
		return nil
	}
	s.stopped = true
	return s.open.disable()
}

// hangups takes note of tasks that ended. A ring is watched through one
// event; when its task is gone, through another whose task lives.
func (s *Source) hangups() {
	for _, tag := range s.poll.hung {
		if tag < pidTag {
			s.poll.remove(s.pidfds[pidTag-tag-1])
			s.poll.watched++
			s.living--
			s.allGone = s.living == 0
			if s.workload != nil {
				<-s.workload.ended // its status is there when Poll says io.EOF
			}
			continue
		}
		s.poll.remove(s.pollFD[tag])
		// What was found dead before stays dead.
		for ; s.cursor[tag] < len(s.open.fds); s.cursor[tag]++ {
			f := &s.open.fds[s.cursor[tag]]
			if f.ring == tag && !hungUp(f.fd) {
				if err := s.poll.add(f.fd, tag); err == nil {
					s.pollFD[tag] = f.fd
				}
				break
			}
		}
	}
	s.poll.hung = s.poll.hung[:0]
}

// ended reports that all targets are gone.
func (s *Source) ended() bool {
	if s.workload != nil {
		// Not its events: a set-user-id program loses them and runs on.
		_, over := s.workload.status()
		return over
	}
	if !s.counting {
		return s.allGone || s.poll.watched == 0
	}
	if len(s.pidfds)+len(s.lookFor) == 0 || s.living > 0 {
		return false
	}
	return !slices.ContainsFunc(s.lookFor, func(tid int) bool { return unix.Kill(tid, 0) == nil })
}

// finish makes the end final: nothing is written to the rings any more, and
// losses that the kernel had no chance to report are appended.
func (s *Source) finish() error {
	if s.eof {
		return nil
	}
	if err := s.Stop(); err != nil {
		return err
	}
	s.eof = true
	for _, r := range s.live {
		if r.backward {
			r.freeze()
		} else {
			s.appendLoss(r)
		}
	}
	return nil
}

// appendLoss compares what LOST records said, read or still in the ring, with
// the events' own counters.
func (s *Source) appendLoss(r *ring) {
	var total, id uint64
	for i := range s.open.fds {
		f := &s.open.fds[i]
		if s.open.rings[f.ring] != r || !f.counts {
			continue
		}
		n, err := f.readLost()
		if err != nil {
			continue
		}
		if n > 0 {
			id = f.id
		}
		total += n
	}
	if said := r.lostSeen + r.lostWaiting(); total > said {
		r.addFinal(id, total-said)
	}
}

// WorkloadStatus is how the workload ended; false while it runs, or if there
// is none.
func (s *Source) WorkloadStatus() (*os.ProcessState, bool) {
	if s.workload == nil {
		return nil, false
	}
	return s.workload.status()
}

// Signal passes a signal on to the workload. That it has ended already is no
// error.
func (s *Source) Signal(sig os.Signal) error {
	if s.workload == nil {
		return nil
	}
	if err := s.workload.process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", s.workload.Args[0], err)
	}
	return nil
}

// Close disables and closes everything. Views of ring memory die.
func (s *Source) Close() error {
	var errs []error
	if s.poll != nil {
		errs = append(errs, s.poll.close())
		s.poll = nil
	}
	if s.open != nil {
		errs = append(errs, s.open.close())
	}
	if s.att != nil {
		s.att.close()
	}
	for _, fd := range s.pidfds {
		errs = append(errs, unix.Close(fd))
	}
	s.pidfds = nil
	if s.workload != nil {
		s.workload.kill()
	}
	s.eof = true // and the rings are empty: they keep their statistics
	return errors.Join(errs...)
}
