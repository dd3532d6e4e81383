package bpf

import (
	"slices"

	"github.com/cilium/ebpf"

	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
)

// This file restricts programs to the target. The kernel runs them for every task on
// every CPU, so a program first checks whether its event belongs to the target.

// A Target says which processes, threads, cgroups and CPUs are observed. Programs
// compare with its numbers, or look into the sets that load keeps.
type Target = load.Target

// trackers adds the programs that update the set of the target's processes or
// threads.
func (im *Image) trackers(host *Host, t *Target) {
	if len(t.Cgroups) > 0 {
		im.define(load.CgroupsMap.Of(), &ebpf.MapSpec{
			Type: ebpf.CGroupArray, KeySize: 4, ValueSize: 4, MaxEntries: uint32(len(t.Cgroups)),
		})
	}
	if im.Asks && len(t.Cgroups) > 0 {
		// User space finds threads that enter a cgroup later in the cgroup's
		// files.
		refuse("which threads are in a cgroup is followed outside of the kernel")
	}
	if im.Asks {
		state.TrackThreads(&im.Image, host, t)
		return
	}
	traced := slices.ContainsFunc(im.layout.sources, func(e *source) bool { return !e.Sampled })
	if !t.InSet() || !traced {
		return // perf samples the target alone
	}
	state.TrackProcesses(&im.Image, host, t)
}

// Some plans ask whether a thread belongs to the target, with traced(tid): their events are
// about threads that others wake and switch to. So their programs handle the events of all
// threads, and the target is a set of threads: the threads at the beginning, and those threads
// that they start which belong to the target too.

// asks reports that some expression asks whether a thread belongs to the
// target.
func (s *layout) asks() bool {
	found := false
	for i := range s.sources {
		for _, n := range s.nodes(i) {
			found = found || expr.HasNative(n, expr.AsksThreads)
		}
	}
	return found
}
