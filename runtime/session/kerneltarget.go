package session

import (
	"os"
	"strconv"

	"ppscript/bpf"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/system/kernel"
	"ppscript/runtime/target/cgroup"
)

// This file converts the run's target for programs in the kernel.

// kernelTarget converts t for programs, or returns the reason why they cannot
// observe it.
func kernelTarget(t *perf.Target) (target *bpf.Target, no string) {
	k := &bpf.Target{CPUs: t.CPUs, PIDs: t.PIDs, TIDs: t.TIDs}
	for _, id := range append(append([]int(nil), t.PIDs...), t.TIDs...) {
		if _, err := os.Stat("/proc/" + strconv.Itoa(id)); err != nil {
			return nil, "a task is gone" // perf's error will name it
		}
	}
	switch {
	case t.CPUs != nil && !online(t.CPUs):
		return nil, "a CPU is not online"
	case len(t.Cgroups) > 0:
		return cgroupTarget(k, t.Cgroups)
	case t.Workload != nil && !t.System:
		k.Workload, k.Follow = true, t.Inherit != perf.No
	case len(t.TIDs) > 0 && t.Inherit == perf.Yes:
		return nil, "children of threads are followed by perf"
	case len(t.PIDs) > 0 && t.Inherit == perf.No:
		return nil, "threads that come later are left out"
	case len(t.PIDs) > 0:
		k.Follow = t.Inherit == perf.Yes
	}
	return k, ""
}

// cgroupTarget adds cgroups to k. Programs know cgroups of version 2 only.
func cgroupTarget(k *bpf.Target, names []string) (target *bpf.Target, no string) {
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	_, dirs, missing := cgroup.Dirs(names)
	switch {
	case err != nil || missing != nil:
		return nil, "a cgroup is missing" // perf's error will name it
	case mounts.PerfEventV1 != "":
		return nil, "cgroups of the first version are observed by perf"
	}
	k.Cgroups = dirs
	return k, ""
}

func online(cpus []int) bool {
	all, err := kernel.ReadCPUs(kernel.Roots{})
	return err == nil && len(cpus) > 0 && all.Check(cpus) == nil
}
