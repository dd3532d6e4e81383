package session

import (
	"errors"
	"os"
	"syscall"

	"ppscript/bpf/hookcost"
	"ppscript/runtime/event"
	"ppscript/runtime/operator/order"
	"ppscript/runtime/plan"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/workload"
)

// sources has the open sources of a run.
type sources struct {
	src       event.Source // nil if there are no events to read
	live      *perf.Source // the kernel's part of src; nil if it has none
	kernel    *kernelRun   // programs in the kernel that process all events; then src is nil
	watch     *perf.Watch  // see observeTarget; nil if nothing needs it
	skipped   *hookcost.Misses
	slots     dutyCycle
	windows   windows
	counters  counters
	feeder    order.Feeder    // brings the events of src into order
	polled    event.Time      // time of the last poll of src
	forgetful []*plan.JoinRun // joins that drop state of ended threads
	workload  ending
}

// observe reports that the run has any source.
func (s *sources) observe() bool { return s.src != nil || s.kernel != nil || s.counters.any() }

// gaps counts the CPUs that came online during the run and whose first events
// were missed.
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

// growing reports that the source may get more rings, because some CPUs are offline now.
func (s *sources) growing() bool {
	if s.live == nil {
		return false
	}
	cpus, err := kernel.ReadCPUs(kernel.Roots{})
	return err != nil || len(cpus.Possible) > len(cpus.Online)
}

// comesOrGoes reports the begin or the end of a thread to the joins that need
// it.
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

// observeTarget opens the run's watch unless it is open. The watch notices the end of the
// target; it also starts a workload and holds it until all events are attached. The sources
// without rings share it: programs in the kernel, and counters that must count from the start of
// the command. The workload begins when each of them has released it (see Workload.Openers).
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

// close closes the sources, and records the exit status of the workload.
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

// An ending is the exit status of the workload.
type ending struct {
	status int            // -1 if it has not ended
	signal syscall.Signal // the signal that ended it
}

// of records the status of the workload if it has ended.
func (e *ending) of(status *os.ProcessState, over bool) {
	if over {
		e.status, e.signal = workload.ExitStatus(status)
	}
}

// sawEnds reports that the source has noticed the end of all processes that the user
// named.
func (s *sources) sawEnds() bool { return s.live != nil && s.live.SawEnds() }
