package bpf

import (
	"slices"

	"github.com/cilium/ebpf"

	"ppscript/bpf/load"
	"ppscript/bpf/state"
	"ppscript/runtime/expr"
)

// This file restricts programs to the target. They run for every task on every
// CPU, whichever target they were made for, so the first thing that a program does is
// to find out whether the event is meant.

// A Target says whose events count. The code of programs compares with it, or looks
// into the sets that load keeps.
type Target = load.Target

// trackers adds the programs that keep the set of processes or threads.
func (im *Image) trackers(host *Host, t *Target) {
	if len(t.Cgroups) > 0 {
		im.define(load.CgroupsMap.Of(), &ebpf.MapSpec{
			Type: ebpf.CGroupArray, KeySize: 4, ValueSize: 4, MaxEntries: uint32(len(t.Cgroups)),
		})
	}
	if im.Asks && len(t.Cgroups) > 0 {
		// A thread that enters a cgroup later is found in its files.
		refuse("which threads are in a cgroup is followed outside of the kernel")
	}
	if im.Asks {
		state.TrackThreads(&im.Image, host, t)
		return
	}
	traced := slices.ContainsFunc(im.layout.sources, func(e *source) bool { return !e.Sampled })
	if !t.InSet() || !traced {
		return // samples come of the target alone
	}
	state.TrackProcesses(&im.Image, host, t)
}

// Some plans ask whether a thread is one of the target's, traced(tid): they are about
// threads that others wake and switch to, so their programs run for all, and the target
// is a set of threads: the threads of the beginning, and threads that they start as far as these
// belong to it.

// asks reports that some expression asks for threads of the target.
func (s *layout) asks() bool {
	found := false
	for i := range s.sources {
		for _, n := range s.nodes(i) {
			found = found || expr.HasNative(n, expr.AsksThreads)
		}
	}
	return found
}
