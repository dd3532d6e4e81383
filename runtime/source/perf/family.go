package perf

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file observes tasks and their children where events must not be
// inherited.
//
// The kprobe and uprobe PMUs are given the function or file as a pointer. When
// such an event is inherited, the kernel follows that pointer again, in the
// memory of the task that forks: its fork or clone fails with EFAULT, and the
// observed program breaks. So such events are opened on whole CPUs, together
// with all others of the run, and samples of other tasks are dropped as they
// are read. Which tasks are meant is told by FORK records, that the kernel
// writes before the new task can run.

// A family is the tasks that are meant.
type family struct {
	// pids are whole processes; then children do not count.
	pids []int32
	// tids are threads, with all that they start; nil if there are pids.
	tids  map[int32]bool
	forks []forkRecord // scratch
}

// forkRecord is the content of a FORK record.
type forkRecord struct {
	time      uint64
	tid, ptid int32
}

// pointers reports that an event must not be inherited.
func (c *Config) pointers() bool {
	return slices.ContainsFunc(c.Events, func(e EventConfig) bool { return e.Config1Text != "" })
}

// noInherit turns an attachment to tasks that is inherited into one to CPUs.
func (c *Config) noInherit(a *attachment, cpus []int) {
	if !a.inherit || !c.pointers() {
		return
	}
	f := &family{}
	if a.mode == "pid" && a.thread {
		for _, pid := range a.pids {
			f.pids = append(f.pids, int32(pid))
		}
	} else {
		f.tids = map[int32]bool{}
		for _, p := range a.places {
			f.tids[int32(p.pid)] = true
		}
		if w := c.Target.Workload; w != nil {
			// Whichever thread executes the command has this number then.
			f.tids[int32(w.PID())] = true
		}
		c.SideBand.Task = true
	}
	a.family, a.inherit, a.thread = f, false, false
	a.places, a.rings = nil, nil
	for i, cpu := range cpus {
		a.rings = append(a.rings, ringKey{cpu, -1})
		a.places = append(a.places, place{pid: -1, cpu: cpu, ring: i})
	}
}

// uncountable is the refusal to count events that only samples can tell apart.
func uncountable() error {
	return (&diag.Error{Op: "count", Subject: "probes", Class: diag.Attach,
		Cause: &diag.Unsupported{Feature: "counting probes in tasks and what they start",
			Instead: "the kernel cannot have new threads inherit probes"}}).
		WithHint("count samples instead, with .count(), or whole CPUs, without -p and command")
}

// mine reports that a sample of a task is wanted.
//
// Fast path: it runs for every sample, where there is a family.
func (f *family) mine(pid, tid int32) bool {
	if f.tids != nil {
		return f.tids[tid]
	}
	return slices.Contains(f.pids, pid)
}

// learn follows the FORK records that have come since the last look, in the
// order of their times, since a parent's may be in another ring.
func (f *family) learn(rings []*ring) {
	if f.tids == nil {
		return
	}
	f.forks = f.forks[:0]
	for _, r := range rings {
		f.forks = r.forked(f.forks)
	}
	slices.SortFunc(f.forks, func(a, b forkRecord) int { return cmp.Compare(a.time, b.time) })
	for _, k := range f.forks {
		switch {
		case f.tids[k.ptid]:
			f.tids[k.tid] = true
		case f.tids[k.tid]:
			delete(f.tids, k.tid) // ours has ended, and its number is used again
		}
	}
}

// forkSize is the least size of a FORK record: header, pid, ppid, tid, ptid,
// time.
const forkSize = headerSize + 24

// forked appends the FORK records that have not been looked at yet.
func (r *ring) forked(dst []forkRecord) []forkRecord {
	if r.backward && !r.frozen || r.page == nil {
		return dst
	}
	r.looked = r.walk(r.looked, r.readable()-uint64(len(r.final)), func(data []byte, off uint64) {
		if mask := uint64(len(data) - 1); le32(data, int(off)) == unix.PERF_RECORD_FORK &&
			recordSize(data, off) >= forkSize {
			ids := le64(data, int((off+16)&mask))
			dst = append(dst, forkRecord{
				time: le64(data, int((off+24)&mask)), tid: int32(ids), ptid: int32(ids >> 32),
			})
		}
	})
	return dst
}
