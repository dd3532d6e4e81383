package exporter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Pauses before a script that has ended is started again. The pause begins with firstPause
// and doubles each time, up to longestPause. After a script has run for longer than
// longestPause, it begins with firstPause again.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// A Supervisor keeps jobs running. Set and Close must be called from one
// goroutine.
type Supervisor struct {
	// Run runs a job until its context ends. If it returns earlier, that counts as a
	// failure, even with a nil error.
	Run func(ctx context.Context, j Job) error
	// Ended is called after each failure, with the pause until the job starts
	// again.
	Ended func(j Job, err error, again time.Duration)
	// OnEnd is called when a job has ended because Set no longer has its name.
	// It may be nil.
	OnEnd func(j Job)

	pause time.Duration // the first pause; 0: firstPause
	jobs  []*running
}

// running is a job whose goroutine runs.
type running struct {
	Job
	stop context.CancelFunc
	done sync.WaitGroup
}

// ErrEnded is reported for a job that ends without an error.
var ErrEnded = errors.New("it ended by itself")

// Set replaces the list of jobs. Jobs with the same name and words go on; Set stops all
// others and waits for their end, then starts the new ones.
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

// keep runs a job, and again after each end, until ctx ends.
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
