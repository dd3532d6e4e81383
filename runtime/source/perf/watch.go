package perf

import (
	"context"
	"errors"
	"os"
	"time"

	"ppscript/runtime/system/poll"
)

// A Watch waits for the end of a target without events, for callers that observe
// the target in another way. It starts the target's workload and holds it until
// Release. A Watch is used by one goroutine.
type Watch struct {
	src    Source
	beside *Source // set by Beside; may be nil
}

// OpenWatch starts t's workload, if any, and holds it, and watches for the end
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
	s.poll.HearCPUs() // for the hooks of the same run, which follow CPUs
	return s.watchTargets()
}

// PID returns the process of the workload; 0 without one.
func (w *Watch) PID() int {
	if w.src.tasks.workload == nil {
		return 0
	}
	return w.src.tasks.workload.PID()
}

// Release lets the workload execute its command; it returns the error if that
// fails.
func (w *Watch) Release() error {
	if w.src.tasks.workload == nil {
		return nil
	}
	return w.src.tasks.workload.Release()
}

// Hear makes Wait end when a program wakes the reader of a buffer.
func (w *Watch) Hear(fd int) error { return w.src.poll.Edge(fd, poll.Buffer) }

// Beside makes Wait also end when a ring of src has reached its watermark. Only Wait waits for src;
// its caller then reads src with a Poll without timeout. While Wait sleeps, the pump of src is
// stopped, so that its rings fill up to the watermark.
func (w *Watch) Beside(src *Source) error {
	w.beside = src
	return w.src.poll.Nest(src.poll)
}

// Wait sleeps for d. It returns earlier with io.EOF if the targets end, and
// with ctx's error if ctx is done.
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

// Close closes the Watch and ends the workload if it still runs.
func (w *Watch) Close() error { return w.src.Close() }
