package perf

import (
	"errors"
	"slices"

	"ppscript/runtime/system/poll"
	"ppscript/runtime/system/workload"

	"golang.org/x/sys/unix"
)

// This file finds out when all observed processes have ended.

// tasks are the tasks of a target whose end is watched.
type tasks struct {
	workload *workload.Command
	pidfds   []int
	living   int // number of pidfds whose process has not ended
	allGone  bool
	lookFor  []int // tasks without a pidfd, which are checked from time to time
}

// close closes the descriptors and ends the workload.
func (t *tasks) close() error {
	var errs []error
	for _, fd := range t.pidfds {
		errs = append(errs, unix.Close(fd))
	}
	t.pidfds = nil
	if t.workload != nil {
		t.workload.Kill()
	}
	return errors.Join(errs...)
}

// watchTargets makes Poll detect the end of the workload, or of all processes.
// Rings report it too, but not the rings of whole CPUs, and not if unobserved
// children still run.
func (s *Source) watchTargets() error {
	pids, flags := s.att.watch, 0
	t := &s.cfg.Target
	switch {
	case s.tasks.workload != nil:
		pids = []int{s.tasks.workload.PID()}
	case s.alone() && len(t.TIDs) > 0:
		pids, flags = t.TIDs, unix.O_EXCL // PIDFD_THREAD
	case s.counting:
		pids = t.PIDs
	}
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, flags)
		if err == unix.EINVAL || err == unix.ENOSYS {
			// The kernel is older than 5.3, or 6.9 for threads. Rings still
			// report the end; for counters it is checked from time to time.
			s.tasks.lookFor = append(s.tasks.lookFor, pid)
		}
		if err != nil {
			continue // ESRCH: it has ended already
		}
		s.tasks.pidfds = append(s.tasks.pidfds, fd)
		if err := s.poll.Add(fd, poll.PIDs-len(s.tasks.pidfds)); err != nil {
			return err
		}
		s.poll.Watched-- // living counts it instead
		s.tasks.living++
	}
	return nil
}

// hangups handles tasks that have ended. A ring is watched through the
// descriptor of one event; when the task of that event has ended, through
// another whose task still runs.
func (s *Source) hangups() {
	for _, tag := range s.poll.Hung {
		if tag < poll.PIDs {
			s.poll.Remove(s.tasks.pidfds[poll.PIDs-tag-1])
			s.poll.Watched++
			s.tasks.living--
			s.tasks.allGone = s.tasks.living == 0
			if s.tasks.workload != nil {
				<-s.tasks.workload.Ended() // its status is available when Poll returns io.EOF
			}
			continue
		}
		s.poll.Remove(s.pollFD[tag])
		// Descriptors before cursor belong to tasks that have ended.
		for ; s.cursor[tag] < len(s.open.fds); s.cursor[tag]++ {
			f := &s.open.fds[s.cursor[tag]]
			if f.ring == tag && !poll.HungUp(f.fd) {
				if err := s.poll.Add(f.fd, tag); err == nil {
					s.pollFD[tag] = f.fd
				}
				break
			}
		}
	}
	s.poll.Hung = s.poll.Hung[:0]
}

// alone reports that no rings report the end of their tasks.
func (s *Source) alone() bool { return s.counting || s.cfg.projected() }

// ended reports that all targets have ended.
func (s *Source) ended() bool {
	if s.tasks.workload != nil {
		// Its events do not count: a set-user-id program loses them and still
		// runs.
		_, over := s.tasks.workload.Status()
		return over
	}
	if !s.alone() {
		return s.tasks.allGone || s.poll.Watched == 0
	}
	// The processes of AwaitEnds are not counted here.
	if s.tasks.living > 0 || !s.tasks.allGone && len(s.tasks.lookFor) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.tasks.lookFor, func(tid int) bool { return unix.Kill(tid, 0) == nil })
}
