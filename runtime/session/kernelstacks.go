package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"ppscript/bpf/load"
	"ppscript/runtime/event"
	"ppscript/runtime/order"
	"ppscript/runtime/perf"
)

// This file follows what processes map while their stacks are counted inside
// the kernel: no samples come, but the records about processes do, so that the
// addresses of those that have ended still have names. They are on the clock of
// programs.

// A sideBand reads the records about all processes, or about those that are observed.
type sideBand struct {
	src    *perf.Source
	feeder order.Feeder
	over   bool
}

func openSideBand(ctx context.Context, of *perf.Target, cgroups bool, loop *perf.Watch) (*sideBand, error) {
	var target perf.Target
	if len(of.PIDs) > 0 { // what others map is of no use, and wakes
		target = perf.Target{PIDs: of.PIDs, Inherit: perf.Yes}
	}
	src, err := perf.Open(ctx, perf.Config{
		Target:   target,
		SideBand: perf.SideBand{Comm: true, Task: true, Mmap: true, Ksymbol: true, Cgroup: cgroups},
		Members:  []event.Member{}, Clock: perf.ClockMonotonic, Spool: spoolBytes / 4,
	})
	if err != nil {
		return nil, err
	}
	if err := loop.Beside(src); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return &sideBand{src: src, feeder: order.NewMerge(src)}, nil
}

// round brings the records that there are to sink; final are the last ones.
func (s *sideBand) round(sink func([]*event.Event), final bool) error {
	if s == nil || s.over {
		return nil
	}
	if s.over = final; final {
		if err := s.src.Stop(); err != nil {
			return err
		}
	}
	if err := s.src.Poll(context.Background(), 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.feeder.Round(sink, final)
	return nil
}

func (s *sideBand) close() error {
	if s == nil {
		return nil
	}
	return s.src.Close()
}

// quietLooks is how many looks have to find no new process before they are made ever
// less often.
const quietLooks = 10

// look takes in what is new about processes. Those that have a first stack are
// looked at while they are there.
func (k *kernelRun) look(r *run, final bool) error {
	if err := k.side.round(r.instance.Router.Events, final); err != nil {
		return err
	}
	if k.side == nil {
		return nil
	}
	return k.quiet.look(r.stacks, k.run)
}

// quiet is how many looks at processes found nothing new, one after the other.
type quiet int

// look looks at the processes that had a first stack since the last call.
func (q *quiet) look(stacks *runStacks, programs *load.Run) error {
	pids, err := programs.Fresh()
	if err != nil {
		return fmt.Errorf("read new processes: %w", err)
	}
	if *q++; len(pids) > 0 {
		*q = 0
	}
	for _, pid := range pids {
		stacks.Hold(int32(pid), load.Now())
	}
	return nil
}

// nap is how long it takes to the next look.
func (q quiet) nap() time.Duration {
	if q < quietLooks {
		return pollTime
	}
	return min(idleTime, pollTime<<min(q-quietLooks, 16))
}

// number is the number of a stack that a program found.
func (w *runStacks) number(s *load.Stack) uint64 {
	return uint64(w.Namer.Number(s.PID, s.Image, s.Time, s.Kernel, s.User, s.Max))
}
