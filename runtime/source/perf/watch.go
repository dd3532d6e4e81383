package perf

import (
	"context"
	"errors"
	"os"
	"time"

	"ppscript/runtime/system/poll"
)

// A Watch waits for a target's end without any event: for callers that observe it
// in another way. It starts the target's workload and holds it until Release.
// A Watch is used by one goroutine.
type Watch struct {
	src    Source
	beside *Source // nil if there is none
}

// OpenWatch starts t's workload, held, if it has one, and looks out for the end
// of t's tasks. Close releases the Watch.
func OpenWatch(t Target) (*Watch, error) {
	w := &Watch{src: Source{cfg: Config{Target: t}, state: state{counting: true}}}
	if err := w.open(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Watch) open() (err error) {
	s := &w.src
	s.rest.src = s
	if l := s.cfg.Target.Workload; l != nil {
		if err = l.Start(); err != nil {
			return err
		}
		s.tasks.workload = l
	}
	s.att, s.open = &attachment{}, &opener{}
	if s.poll, err = poll.New(s.filled); err != nil {
		return err
	}
	s.poll.HearCPUs() // for the hooks beside it
	return s.watchTargets()
}

// PID is the process of the workload; 0 without one.
func (w *Watch) PID() int {
	if w.src.tasks.workload == nil {
		return 0
	}
	return w.src.tasks.workload.PID()
}

// Release lets the workload execute its command, and reports if it cannot.
func (w *Watch) Release() error {
	if w.src.tasks.workload == nil {
		return nil
	}
	return w.src.tasks.workload.Release()
}

// Hear has Wait end when somebody writes to a buffer of programs, and has it wake.
func (w *Watch) Hear(fd int) error { return w.src.poll.Edge(fd, poll.Buffer) }

// Beside has Wait end as well when a ring of src is half full. Nobody else waits for src: the thread that
// waits looks at it, with a Poll of no time. While Wait sleeps, no ring of src is emptied.
func (w *Watch) Beside(src *Source) error {
	w.beside = src
	return w.src.poll.Nest(src.poll)
}

// Wait sleeps for d, less if the targets end or ctx is done. It returns io.EOF
// in the former case and ctx's error in the latter.
func (w *Watch) Wait(ctx context.Context, d time.Duration) error {
	if w.beside == nil {
		return w.src.Poll(ctx, d)
	}
	w.beside.pump.end()
	defer w.beside.pump.begin()
	return w.src.Poll(ctx, d)
}

// Wake is Source.Wake.
func (w *Watch) Wake() { w.src.Wake() }

// WorkloadStatus is Source.WorkloadStatus.
func (w *Watch) WorkloadStatus() (*os.ProcessState, bool) { return w.src.WorkloadStatus() }

// Close ends the workload if it still runs.
func (w *Watch) Close() error { return w.src.Close() }
