package session

import (
	"errors"
	"os"
	"syscall"

	"ppscript/bpf/hookcost"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
	"ppscript/runtime/session/dutycycle"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/workload"
)

// sources are what a run reads.
type sources struct {
	src       event.Source // of events; nil if there are none to read
	live      *perf.Source // the kernel's part of src; nil if it has none
	kernel    *kernelRun   // in place of src
	watch     *perf.Watch  // see observeTarget; nil if nothing needs it
	skipped   *hookcost.Misses
	slots     dutycycle.Slots
	windows   windows
	counters  counters
	feeder    order.Feeder    // brings the events of src into order
	polled    event.Time      // when src was polled last
	forgetful []*plan.JoinRun // that want to know of threads that end
	workload  ending
}

// observe reports that there is something to observe.
func (s *sources) observe() bool { return s.src != nil || s.kernel != nil || s.counters.any() }

// gaps is how often a CPU came online and its first events were missed.
func (s *sources) gaps() uint64 {
	var n uint64
	if s.live != nil {
		n += s.live.Gaps()
	}
	if s.kernel != nil && s.kernel.hooks != nil {
		n += s.kernel.hooks.Gaps()
	}
	return n + s.counters.gaps()
}

// growing reports that rings of other CPUs may come: rings of CPUs that are offline now.
func (s *sources) growing() bool {
	if s.live == nil {
		return false
	}
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	return err != nil || len(cpus.Possible) > len(cpus.Online)
}

// comesOrGoes tells joins of threads that begin and end.
func (s *sources) comesOrGoes(e *event.Event) {
	if len(s.forgetful) == 0 || e.Kind != event.Fork && e.Kind != event.Exit {
		return
	}
	if f, ok := perf.DecodeFork(e); ok {
		for _, j := range s.forgetful {
			j.Began(f.TID)
		}
	} else if x, ok := perf.DecodeExit(e); ok {
		for _, j := range s.forgetful {
			j.Ended(x.TID, e.Time)
		}
	}
}

// observeTarget opens the run's watch unless it is open: it notices the target's end, starts a workload and
// holds it. What observes the target without rings shares it, and releases a workload once for each of its
// Openers: programs of the kernel, and counters that count when the command is let go.
func (s *sources) observeTarget(t perf.Target) (err error) {
	if s.watch == nil {
		s.watch, err = perf.OpenWatch(t)
	}
	return err
}

// unwatch closes the watch, and ends a workload that is held or runs.
func (s *sources) unwatch() error {
	if s.watch == nil {
		return nil
	}
	err := s.watch.Close()
	s.watch = nil
	return err
}

// close closes the sources, and takes the status of the workload.
func (s *sources) close() error {
	if s.watch != nil {
		s.workload.of(s.watch.WorkloadStatus())
	}
	errs := []error{s.windows.close(), s.counters.close(&s.workload), s.skipped.Close()}
	if s.kernel != nil {
		errs = append(errs, s.kernel.close())
	}
	errs = append(errs, s.unwatch())
	if s.live != nil {
		s.workload.of(s.live.WorkloadStatus())
		errs = append(errs, s.live.Close())
	}
	return errors.Join(errs...)
}

// An ending is how the workload ended.
type ending struct {
	status int            // -1 if it is not over
	signal syscall.Signal // that ended it
}

// of takes the status that a source has of the workload, if it is over.
func (e *ending) of(status *os.ProcessState, over bool) {
	if over {
		e.status, e.signal = workload.ExitStatus(status)
	}
}

// sawEnds reports that the source has seen the end of all processes that the user named.
func (s *sources) sawEnds() bool { return s.live != nil && s.live.SawEnds() }
