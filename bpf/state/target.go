package state

import (
	_ "embed"

	"github.com/cilium/ebpf"

	"ppscript/bpf/assembler"
	"ppscript/bpf/features"
	"ppscript/bpf/load"
)

// This file has the programs that update the target's set of processes or threads, compiled from
// target.c. A test compiles it again and compares.

//go:embed target.o
var targetObject []byte

var trackers = assembler.NewObject(targetObject)

// mostThreads bounds the set of threads.
const mostThreads = 1 << 16

// cloneThread is CLONE_THREAD of sched.h, a flag of task_newtask.
const cloneThread = 0x10000

// New threads that belong to the target if a thread of the target makes them.
const (
	followNone    = iota
	followThreads // those of the same process
	followAll
)

// TrackProcesses adds the set of processes to an image, with the programs that update it. The
// workload belongs to the target from its execve on, children from their creation on.
func TrackProcesses(im *load.Image, host *features.Host, t *load.Target) {
	defineIn(im, load.ControlMap.Of(),
		&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 16, MaxEntries: 1})
	defineIn(im, load.ProcessesMap.Of(), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: 1 << 14,
	})
	if t.Workload {
		// execve renames the task right behind the place where perf enables events of a command
		// (enable_on_exec). sched_process_exec is too late: another program on that tracepoint may
		// run first.
		track(im, "workload", "task_rename", nil)
	}
	if !t.Follow {
		return
	}
	im.Follow = true
	track(im, "children", newTask, map[string]int64{
		"number_at": memberOfTask(host, "tgid", "following children"),
	})
}

// TrackThreads adds the set of threads to an image, with the program that updates it. A new thread
// is added if a thread of the target started it and it belongs to the target. A number that a
// thread outside of the target gets is removed.
func TrackThreads(im *load.Image, host *features.Host, t *load.Target) {
	if !t.Named() {
		return
	}
	defineIn(im, load.ThreadsMap.Of(), &ebpf.MapSpec{
		Type: ebpf.Hash, KeySize: 4, ValueSize: 4, MaxEntries: mostThreads,
	})
	follow := int64(followNone)
	switch {
	case t.Workload || t.Follow:
		follow = followAll
	case len(t.PIDs) > 0:
		follow = followThreads
	}
	track(im, "threads", newTask, map[string]int64{
		"number_at": memberOfTask(host, "pid", "following threads"), "follow": follow,
	})
}

// newTask is the tracepoint of tasks that are made.
const newTask = "task_newtask"

// track adds the program track_LABEL to an image, with the numbers that are given to it.
func track(im *load.Image, label, tracepoint string, given map[string]int64) {
	im.Programs = append(im.Programs, load.Program{Label: label, Kind: ebpf.RawTracepoint,
		Attach: tracepoint, Ins: trackers.Program("track_"+label, given), Event: -1})
}

// memberOfTask returns where a task_struct has a member; doing needs it.
func memberOfTask(host *features.Host, member, doing string) int64 {
	at, ok := host.Member("task_struct", member)
	if !ok {
		assembler.Refuse("%s needs the kernel's type information (CONFIG_DEBUG_INFO_BTF)", doing)
	}
	return int64(at)
}

// defineIn adds a map to the image.
func defineIn(im *load.Image, id load.MapID, spec *ebpf.MapSpec) {
	im.Maps = append(im.Maps, load.Map{ID: id, Spec: spec})
}
