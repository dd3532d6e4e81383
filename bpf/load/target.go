package load

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"ppscript/runtime/system/privilege"
	"ppscript/runtime/text/diag"
)

// This file keeps the target where programs look: in the sets of processes, of
// threads and of cgroups.

// A Target says whose events count. At most one of PIDs, TIDs and Workload is
// given; the zero Target is the whole machine.
type Target struct {
	CPUs []int // nil is all
	// PIDs are processes with all of their threads, TIDs are threads. Follow
	// takes the children of PIDs and of the Workload along.
	PIDs, TIDs []int
	Follow     bool
	// Workload counts the process Root from its next execve on.
	Workload bool
	Root     int
	// Cgroups are directories of cgroup2: tasks in them and below.
	Cgroups []string
}

// InSet reports that the processes are in a map, not in the code.
func (t *Target) InSet() bool { return t.Workload || t.Follow || len(t.PIDs) > Listed }

// Named reports that the target is some threads.
func (t *Target) Named() bool { return len(t.PIDs)+len(t.TIDs) > 0 || t.Workload }

// Listed is how many processes, threads or ranges of CPUs the code compares
// with one by one.
const Listed = 8

// nobody is a process number that no process has.
const nobody = 1 << 32

// setProcesses puts the target's processes where programs look.
func (r *Run) setProcesses(t *Target) error {
	if !t.InSet() || r.maps[ControlMap.Of()] == nil {
		return nil
	}
	ctl := make([]uint64, 2)
	ctl[0], ctl[1] = nobody, nobody
	if t.Workload {
		ctl[1] = uint64(t.Root)
	} else {
		ctl[0] = uint64(t.PIDs[0])
	}
	if err := r.words(ControlMap.Of()).update(make([]byte, 4), ctl); err != nil {
		return fmt.Errorf("set the target: %w", err)
	}
	for _, pid := range t.PIDs {
		if err := r.maps[ProcessesMap.Of()].Put(uint32(pid), uint32(1)); err != nil {
			return fmt.Errorf("set the target: %w", err)
		}
	}
	return nil
}

// setCgroups puts the target's cgroups where programs look.
func (r *Run) setCgroups(t *Target) error {
	m := r.maps[CgroupsMap.Of()]
	for i, dir := range t.Cgroups {
		f, err := os.Open(dir)
		if err != nil {
			return &diag.Error{Op: "attach", Subject: "cgroup " + dir, Cause: err, Class: diag.Attach}
		}
		err = m.Put(uint32(i), uint32(f.Fd()))
		f.Close() // the map keeps the cgroup
		if err != nil {
			return fmt.Errorf("set the target: %w", err)
		}
	}
	return nil
}

// setThreads puts the target's threads into the set. It is called before the
// programs run and after: nobody followed the threads that were made
// meanwhile.
func (r *Run) setThreads(t *Target) error {
	m := r.maps[ThreadsMap.Of()]
	if m == nil {
		return nil
	}
	tids := append([]int(nil), t.TIDs...)
	if t.Workload {
		tids = append(tids, t.Root)
	}
	for _, pid := range t.PIDs {
		entries, _ := privilege.ReadDir(privilege.Processes,
			filepath.Join("/proc", strconv.Itoa(pid), "task"))
		for _, e := range entries {
			if tid, err := strconv.Atoi(e.Name()); err == nil {
				tids = append(tids, tid)
			}
		}
	}
	for _, tid := range tids {
		if err := m.Put(uint32(tid), uint32(1)); err != nil {
			return fmt.Errorf("set the target: %w", err)
		}
	}
	return nil
}

// sweepThreads forgets threads that were gone the last time already: the last
// switch of a thread comes when its number is free.
func (r *Run) sweepThreads() error {
	m := r.maps[ThreadsMap.Of()]
	if m == nil {
		return nil
	}
	var tid, value uint32
	gone := map[uint32]bool{}
	for it := m.Iterate(); it.Next(&tid, &value); {
		if errors.Is(unix.Kill(int(tid), 0), unix.ESRCH) {
			gone[tid] = true
		}
	}
	for tid := range gone {
		if !r.endedThreads[tid] {
			continue
		}
		if err := m.Delete(tid); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("forget thread %d: %w", tid, err)
		}
	}
	r.endedThreads = gone
	return nil
}

// Sweep makes room in maps, so that they do not fill up. It forgets processes that have
// ended, so that a number that is given again does not count, states of folds,
// and events that wait in joins.
func (r *Run) Sweep() error {
	if err := errors.Join(r.sweepFolds(), waiters{r}.sweep(), holders{r}.sweep(time.Now()),
		reader{r}.sweep()); err != nil {
		return err
	}
	if r.im.Asks || !r.im.Follow {
		return r.sweepThreads()
	}
	m := r.maps[ProcessesMap.Of()]
	var pid, value uint32
	var gone []uint32
	for it := m.Iterate(); it.Next(&pid, &value); {
		if errors.Is(unix.Kill(int(pid), 0), unix.ESRCH) {
			gone = append(gone, pid)
		}
	}
	for _, pid := range gone {
		if err := m.Delete(pid); err != nil {
			return fmt.Errorf("forget process %d: %w", pid, err)
		}
	}
	return nil
}
