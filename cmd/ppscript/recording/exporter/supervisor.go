package exporter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pauses before a script that has ended begins again: the first, which doubles each time up
// to the longest. A script that ran for longer than that begins with the first anew.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// A Supervisor runs jobs. Set and Close are for one goroutine.
type Supervisor struct {
	// Run runs a job until its context ends. That it returns before is a failure, also
	// without an error.
	Run func(ctx context.Context, j Job) error
	// Ended is told of each failure, and when the job begins again.
	Ended func(j Job, err error, again time.Duration)
	// OnEnd is told of each job that the file no longer has, when it has ended.
	OnEnd func(j Job)

	pause time.Duration // the first; 0 is firstPause
	jobs  []*running
}

// running is a job with the goroutine that keeps it running.
type running struct {
	Job
	stop context.CancelFunc
	done sync.WaitGroup
}

// ErrEnded is the failure of a job that ends without an error.
var ErrEnded = errors.New("it ended by itself")

// Set has these jobs run from now on. Those that were there, with the same words, go on; it
// waits for the others to end.
func (s *Supervisor) Set(ctx context.Context, jobs []Job) {
	var keep, end []*running
	for _, r := range s.jobs {
		if slices.ContainsFunc(jobs, func(j Job) bool { return same(j, r.Job) }) {
			keep = append(keep, r)
		} else {
			r.stop()
			end = append(end, r)
		}
	}
	for _, r := range end {
		r.done.Wait()
		if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == r.Name }) && s.OnEnd != nil {
			s.OnEnd(r.Job)
		}
	}
	s.jobs = keep
	for _, j := range jobs {
		if slices.ContainsFunc(keep, func(r *running) bool { return r.Name == j.Name }) {
			continue
		}
		r := &running{Job: j}
		var own context.Context
		own, r.stop = context.WithCancel(ctx)
		r.done.Go(func() { s.keep(own, j) })
		s.jobs = append(s.jobs, r)
	}
}

func same(a, b Job) bool { return a.Name == b.Name && slices.Equal(a.Words, b.Words) }

// keep runs a job again and again.
func (s *Supervisor) keep(ctx context.Context, j Job) {
	first := s.pause
	if first == 0 {
		first = firstPause
	}
	pause := first
	for {
		began := time.Now()
		err := s.Run(ctx, j)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = ErrEnded
		}
		if time.Since(began) > longestPause {
			pause = first
		}
		s.Ended(j, err, pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, longestPause)
	}
}

// Close ends all jobs and waits for them.
func (s *Supervisor) Close() {
	for _, r := range s.jobs {
		r.stop()
	}
	for _, r := range s.jobs {
		r.done.Wait()
	}
	s.jobs = nil
}
