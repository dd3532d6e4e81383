package session

import (
	"fmt"
	"time"

	"ppscript/bpf/load"
)

// This file follows the mappings of processes while their stacks are counted inside
// the kernel. No samples come then, but the side records about processes do, so
// that addresses of ended processes can still be named. The records are on the
// programs' clock.

// quietLooks is the number of looks without a new process after which looks become
// rarer.
const quietLooks = 10

// look reads new side records, and the mappings of processes with a first
// stack, while these exist.
func (k *kernelRun) look(r *run, final bool) error {
	if err := k.side.round(r.instance.Router.Events, final); err != nil {
		return err
	}
	if k.side == nil {
		return nil
	}
	return k.quiet.look(r.stacks, k.run)
}

// quiet counts the looks in a row without a new process.
type quiet int

// look reads the mappings of processes that had a first stack since the last
// call.
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

// nap returns the time until the next look.
func (q quiet) nap() time.Duration {
	if q < quietLooks {
		return pollTime
	}
	return min(idleTime, pollTime<<min(q-quietLooks, 16))
}

// number converts a stack of a program to its number in ppscript.
func (w *runStacks) number(s *load.Stack) uint64 {
	id := w.Namer.Number(s.PID, s.Image, s.Time, s.Kernel, s.User, s.Max, s.Interpreted)
	if s.Unwound {
		w.Namer.Unwound(id)
	}
	return uint64(id)
}
