package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"ppscript/runtime/system/kernel"
	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"

	"golang.org/x/sys/unix"
)

// This file converts a Target to places: the pid and CPU for each call of
// perf_event_open, and the ring for its records.
//
// The kernel refuses to map a ring for an event that is inherited and not bound
// to a CPU. So an inherited event is opened for each thread on each CPU, with
// one ring for each CPU. An event that is not inherited has a ring for each
// thread.

// A place is the arguments for one perf_event_open of each event.
type place struct {
	pid   int // thread, -1 for all, or the descriptor of a cgroup
	cpu   int // -1 for any
	flags int // PERF_FLAG_PID_CGROUP
	ring  int // index in attachment.rings
}

// ringKey identifies a ring, by CPU or by thread; the other is -1.
type ringKey struct{ cpu, tid int }

// An attachment is a resolved Target.
type attachment struct {
	places  []place
	rings   []ringKey
	inherit bool
	thread  bool // inherit only to threads of the same process
	mode    string
	files   []*os.File // cgroup directories
	watch   []int      // processes whose end ends the source, if their rings do not report it
	pids    []int      // the processes in mode pid
	tids    []int      // the threads of pids, as listed
	family  *family    // the wanted tasks, if events are opened on whole CPUs for tasks; usually nil
}

// onCPUs reports that events are opened for CPUs, so that CPUs that come online
// later need events too.
func (a *attachment) onCPUs() bool {
	return slices.ContainsFunc(a.places, func(p place) bool { return p.cpu >= 0 })
}

func (a *attachment) close() {
	for _, f := range a.files {
		f.Close()
	}
	a.files = nil
}

// resolve finds the places of a target, except on the CPUs in away. The workload must
// have been started.
func (c *Config) resolve(away []int, warn func(error)) (*attachment, error) {
	t := &c.Target
	cpus, err := t.cpus(away)
	if err != nil {
		return nil, err
	}
	a := &attachment{}
	switch {
	case t.Workload != nil && !t.System:
		a.mode = "workload"
		a.inherit = t.Inherit != No
		a.tasks([]int{t.Workload.TID()}, cpus, t.CPUs != nil)
	case len(t.PIDs) > 0:
		a.mode = "pid"
		a.inherit = t.Inherit != No
		a.thread = t.Inherit == Default
		tids, err := threads(t.PIDs, warn)
		if err != nil {
			return nil, err
		}
		a.pids, a.tids = t.PIDs, tids
		if t.Inherit != Yes {
			a.watch = t.PIDs
		}
		a.tasks(tids, cpus, t.CPUs != nil)
	case len(t.TIDs) > 0:
		a.mode = "tid"
		a.inherit = t.Inherit == Yes
		a.tasks(t.TIDs, cpus, t.CPUs != nil)
	case len(t.Cgroups) > 0:
		a.mode = "cgroup"
		if err := a.cgroups(t.Cgroups, cpus); err != nil {
			a.close()
			return nil, err
		}
	default:
		a.mode = "cpu"
		for i, cpu := range cpus {
			a.rings = append(a.rings, ringKey{cpu, -1})
			a.places = append(a.places, place{pid: -1, cpu: cpu, ring: i})
		}
	}
	c.noInherit(a, cpus)
	c.byPrograms(a, cpus)
	return a, nil
}

// cpus returns the CPUs of the target without those in away; the others must be online. If
// away has all of them, it is ignored.
func (t *Target) cpus(away []int) ([]int, error) {
	all, err := kernel.ReadCPUs(kernel.Roots{})
	if err != nil {
		return nil, err
	}
	without := func(cpus []int) []int {
		left := func(cpu int) bool { return slices.Contains(away, cpu) }
		some := slices.DeleteFunc(slices.Clone(cpus), left)
		if len(some) == 0 {
			some = slices.Clone(cpus)
		}
		return some
	}
	if t.CPUs == nil {
		return without(all.Online), nil
	}
	if len(t.CPUs) == 0 {
		return nil, diag.Errorf(diag.Usage, "attach", "cpus", "the list is empty").
			WithHint("name some of CPUs %s", kernel.FormatCPUList(all.Online))
	}
	cpus := without(t.CPUs)
	if err := all.Check(cpus); err != nil {
		return nil, err
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// tasks adds the places of threads; pinned says that the user restricted the
// CPUs.
func (a *attachment) tasks(tids, cpus []int, pinned bool) {
	tids = slices.Compact(slices.Sorted(slices.Values(tids)))
	if a.inherit {
		for i, cpu := range cpus {
			a.rings = append(a.rings, ringKey{cpu, -1})
			for _, tid := range tids {
				a.places = append(a.places, place{pid: tid, cpu: cpu, ring: i})
			}
		}
		return
	}
	if pinned {
		a.rings = make([]ringKey, len(cpus))
		for i, cpu := range cpus {
			a.rings[i] = ringKey{cpu, -1}
			for _, tid := range tids {
				a.places = append(a.places, place{pid: tid, cpu: cpu, ring: i})
			}
		}
		return
	}
	for i, tid := range tids {
		a.rings = append(a.rings, ringKey{-1, tid})
		a.places = append(a.places, place{pid: tid, cpu: -1, ring: i})
	}
}

// unbind makes counters, which need no ring, follow their threads from CPU to
// CPU. Then fewer counters are needed. It also avoids double counts: for
// tracepoints about another task (wake-ups and sched_stat_*), the kernel also
// delivers a hit to the events that the other task has on that CPU, even if that
// task does not run (perf_tp_event_target_task in kernel/events/core.c).
func (a *attachment) unbind(c *Config) {
	if !a.inherit || c.Target.CPUs != nil ||
		slices.ContainsFunc(c.Events, func(ev EventConfig) bool { return ev.CPUs != nil }) {
		return
	}
	var places []place
	for _, p := range a.places {
		p.cpu, p.ring = -1, 0
		if !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	a.places = places
}

// threads lists the threads of processes. It skips processes that have ended,
// with a warning. If all have ended, it is an error.
func threads(pids []int, warn func(error)) ([]int, error) {
	var tids []int
	var gone []error
	for _, pid := range pids {
		list, err := taskDir(pid)
		if err != nil {
			gone = append(gone, noSuchTask(pid, "process"))
			continue
		}
		tids = append(tids, list...)
	}
	if len(tids) == 0 {
		return nil, errors.Join(gone...)
	}
	for _, err := range gone {
		warn(err)
	}
	return tids, nil
}

// newThreads counts the threads that were made after the processes were listed.
// It returns 0 if new threads are not observed.
func (a *attachment) newThreads() int {
	if a.mode != "pid" || !a.inherit && (a.family == nil || a.family.tids == nil) {
		return 0
	}
	n := 0
	for _, pid := range a.pids {
		tids, _ := taskDir(pid)
		for _, tid := range tids {
			if !slices.Contains(a.tids, tid) {
				n++
			}
		}
	}
	return n
}

// taskDir lists /proc/PID/task. If the directory vanishes meanwhile, the error
// is the same as if it did not exist.
func taskDir(pid int) ([]int, error) {
	entries, err := privilege.ReadDir(privilege.Processes, fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	var tids []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 0 {
		return nil, fs.ErrNotExist
	}
	// The main thread of a zombie is still listed, but events cannot be opened
	// on it.
	return tids, nil
}

func noSuchTask(id int, what string) error {
	return (&diag.Error{
		Op: "attach", Subject: fmt.Sprintf("%s %d", what, id), Class: diag.Attach,
		Cause: unix.ESRCH,
	}).WithHint("look for it with: ps -eL")
}
