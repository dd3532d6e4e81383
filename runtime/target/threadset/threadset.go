// Package threadset follows the threads that the user wants to observe, for plans
// that are attached to CPUs although threads were named. A wake-up of a thread, or
// its switch-in, happens in the context of another thread, so an attachment to the
// thread would miss it; such a plan calls Traced(tid) instead. New threads of an
// observed process are observed, and with a command also the processes that it
// starts. New threads in an observed cgroup are observed; a thread that moves into it
// is noticed within a second.
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

// A Set is the set of observed threads. Fork records add and remove threads.
type Set struct {
	named bool // the user named threads; otherwise all are traced
	pids  []int
	tids  map[int32]bool
	// cgroups are the names and patterns of the observed cgroups.
	cgroups []string
	// children says that processes started by observed ones are observed too.
	children bool
	checked  time.Time
	// EndsPoll says that Poll returns when all observed processes have ended. ended is
	// the time at which that was noticed.
	EndsPoll bool
	ended    time.Time
}

// Traced reports whether a thread is observed. The idle task never is.
func (w *Set) Traced(tid int32) bool {
	if !w.named {
		return tid > 0
	}
	return w.tids[tid]
}

// Widen changes a configuration so that its events are attached to CPUs instead
// of threads.
func (w *Set) Widen(c *perf.Config) {
	t := &c.Target
	w.named = len(t.Named()) > 0
	t.PIDs, t.TIDs, t.Cgroups = nil, nil, nil
	t.System = t.Workload != nil
	c.SideBand.Task = true
}

// Threads lists the observed threads; nil if all are.
func (w *Set) Threads() iter.Seq[int32] {
	if !w.named {
		return nil
	}
	return maps.Keys(w.tids)
}

// Begin adds the threads of the targets that exist now. The rings must be open
// before, so that they have the records of later threads.
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

// enter adds the threads that are in the cgroups now.
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

// Await makes Poll of src return when all observed processes have ended.
func (w *Set) Await(src *perf.Source) { w.EndsPoll = len(w.cgroups) == 0 && src.AwaitEnds(w.pids) }

// Record applies a fork record. Exit records are ignored, because the last
// switch-out of a thread comes after its exit. When a number is used again, it
// is removed unless the new thread is observed.
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

// LastSwitch is the longest time between the report of a process's end and its last
// thread leaving the CPU.
const LastSwitch = 20 * time.Millisecond

// Ending reports that all observed processes have ended; Over returns true
// LastSwitch later.
func (w *Set) Ending() bool { return !w.ended.IsZero() }

// Over reports whether all processes that the user named have ended. told says that the source has
// noticed it. Otherwise Over checks it at most once a second, and then also adds threads that were
// moved into the cgroups.
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
