// Package threadset knows which threads the user wants to observe, for plans that are
// attached to CPUs although threads were named. A wake-up of a thread, or its
// switch-in, happens in the context of another, so an attachment to the thread
// would miss it; such a plan asks Traced(tid) instead. Threads made later
// belong to their process; for a command also the processes that it starts.
// Threads made in a cgroup belong to it; one that enters it is seen a second later.
package threadset

import (
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ppscript/runtime/event"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/target/cgroup"
)

// A Set is a set of threads that grows and shrinks with fork records.
type Set struct {
	named bool // the user named somebody; else all threads are traced
	pids  []int
	tids  map[int32]bool
	// cgroups are names and patterns of those whose threads are observed.
	cgroups []string
	// children says that processes started by those observed belong to them.
	children bool
	checked  time.Time
	// EndsPoll says that the end of all of them ends a Poll, ended when that was seen.
	EndsPoll bool
	ended    time.Time
}

// Traced tells whether a thread is observed. The idle task never is.
func (w *Set) Traced(tid int32) bool {
	if !w.named {
		return tid > 0
	}
	return w.tids[tid]
}

// Widen attaches events to CPUs that were meant for threads.
func (w *Set) Widen(c *perf.Config) {
	t := &c.Target
	w.named = len(t.Named()) > 0
	t.PIDs, t.TIDs, t.Cgroups = nil, nil, nil
	t.System = t.Workload != nil
	c.SideBand.Task = true
}

// Threads are those observed; nil if nobody was named.
func (w *Set) Threads() iter.Seq[int32] {
	if !w.named {
		return nil
	}
	return maps.Keys(w.tids)
}

// Begin lists the threads that are there now. Records of later ones are in
// the rings already.
func (w *Set) Begin(t *perf.Target) error {
	w.tids = map[int32]bool{}
	for _, tid := range t.TIDs {
		w.tids[int32(tid)] = true
	}
	w.pids = t.PIDs
	w.cgroups = t.Cgroups
	command := t.Workload != nil && !t.System
	w.children = command || len(t.Cgroups) > 0 || t.Inherit == perf.Yes
	if command {
		w.tids[int32(t.Workload.PID())] = true
	}
	for _, pid := range t.PIDs {
		entries, _ := privilege.ReadDir(privilege.Processes,
			filepath.Join("/proc", strconv.Itoa(pid), "task"))
		for _, e := range entries {
			if tid, err := strconv.Atoi(e.Name()); err == nil {
				w.tids[int32(tid)] = true
			}
		}
	}
	return w.enter()
}

// enter takes in the threads that are in the cgroups now.
func (w *Set) enter() error {
	if len(w.cgroups) == 0 {
		return nil
	}
	tids, err := cgroup.Threads(w.cgroups)
	for _, tid := range tids {
		w.tids[int32(tid)] = true
	}
	return err
}

// Await makes the end of the processes wake the thread that polls src.
func (w *Set) Await(src *perf.Source) { w.EndsPoll = len(w.cgroups) == 0 && src.AwaitEnds(w.pids) }

// Record takes in a fork. Exits change nothing: the last switch-out of a
// thread comes after it. A number that is used again leaves the set unless
// the new thread belongs to it.
func (w *Set) Record(e *event.Event) {
	if e.Kind != event.Fork || !w.named {
		return
	}
	f, ok := perf.DecodeFork(e)
	if !ok {
		return
	}
	if w.tids[f.PTID] && (w.children || len(w.pids) > 0 && f.PID == f.PPID) {
		w.tids[f.TID] = true
	} else {
		delete(w.tids, f.TID)
	}
}

// LastSwitch is how long after the end of a process is told its last thread has left its
// CPU at the latest.
const LastSwitch = 20 * time.Millisecond

// Ending reports that all of them have ended, and that Over is about to say so.
func (w *Set) Ending() bool { return !w.ended.IsZero() }

// Over reports that all processes that the user named have ended. told says that their
// source has seen it; without that it looks at most once a second, and then also which threads have
// entered the cgroups.
func (w *Set) Over(now time.Time, told bool) bool {
	if told && w.ended.IsZero() {
		w.ended = now
	}
	if w.Ending() && now.Sub(w.ended) >= LastSwitch {
		return true
	}
	if len(w.pids)+len(w.cgroups) == 0 || now.Sub(w.checked) < time.Second {
		return false
	}
	w.checked = now
	if len(w.cgroups) > 0 {
		return w.enter() != nil // gone, with all of their threads
	}
	for _, pid := range w.pids {
		if _, err := os.Stat(filepath.Join("/proc", strconv.Itoa(pid))); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}
