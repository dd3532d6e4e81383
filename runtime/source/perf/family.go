package perf

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"

	"ppscript/runtime/text/diag"
)

// This file observes tasks and their children with events that must not be
// inherited.
//
// The kprobe and uprobe PMUs get the function or file as a pointer. When such
// an event is inherited, the kernel reads the pointer again, in the memory of
// the task that forks. Then fork or clone fails with EFAULT, and the observed
// program breaks. So such events, and all other events of the run, are opened
// on whole CPUs, and samples of other tasks are dropped during reading. New
// children are found by FORK records, which the kernel writes before the new
// task can run.

// A family is the set of observed tasks.
type family struct {
	// pids are whole processes, without child processes.
	pids []int32
	// tids are threads, with all tasks that they start; nil if pids is used.
	tids  map[int32]bool
	forks []forkRecord // scratch
}

// forkRecord is the content of a FORK record.
type forkRecord struct {
	time      uint64
	tid, ptid int32
}

// pointers reports that some event must not be inherited, since its attr has a
// pointer.
func (c *Config) pointers() bool {
	return slices.ContainsFunc(c.Events, func(e EventConfig) bool { return e.Config1Text != "" })
}

// noInherit changes an inherited attachment to tasks to an attachment to CPUs,
// if some event must not be inherited.
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
			// The thread that executes the command will have this number.
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

// uncountable returns the error for counting probes in tasks and their
// children: only samples can be assigned to tasks.
func uncountable() error {
	return (&diag.Error{Op: "count", Subject: "probes", Class: diag.Attach,
		Cause: &diag.Unsupported{Feature: "counting probes in tasks and what they start",
			Instead: "the kernel cannot have new threads inherit probes"}}).
		WithHint("count samples instead, with .count(), or whole CPUs, without -p and command")
}

// mine reports that a task is observed.
//
// Fast path: it runs for every sample if there is a family.
func (f *family) mine(pid, tid int32) bool {
	if f.tids != nil {
		return f.tids[tid]
	}
	return slices.Contains(f.pids, pid)
}

// learn adds the children in new FORK records. It processes the records of all
// rings in the order of their times, since the parent's record may be in
// another ring.
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
			delete(f.tids, k.tid) // the observed task has ended, and its number is reused
		}
	}
}

// forkSize is the least size of a FORK record: header, pid, ppid, tid, ptid,
// time.
const forkSize = headerSize + 24

// forked appends the new FORK records of the ring.
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
