package session

import (
	"fmt"
	"time"

	"ppscript/bpf/load"
)

// This file follows what processes map while their stacks are counted inside
// the kernel: no samples come, but the records about processes do, so that the
// addresses of processes that have ended still have names. They are on the clock of
// programs.

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
	for _, pid := range pids {
		stacks.Hold(int32(pid), load.Now())
	}
	interpreted, err := stacks.Namer.Fresh()
	if *q++; len(pids) > 0 || interpreted {
		*q = 0
	}
	return err
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
	id := w.Namer.Number(s.PID, s.Image, s.Time, s.Kernel, s.User, s.Max, s.Interpreted)
	if s.Unwound {
		w.Namer.Unwound(id)
	}
	return uint64(id)
}
