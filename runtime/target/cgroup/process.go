package cgroup

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ppscript/runtime/system/kernel"
)

// This file reads the cgroups of processes from /proc. Machines with cgroups of version
// 1 need it: there the cgroups of systemd and of runtimes may be in other hierarchies
// than perf_event, whose number events have.

// fresh is the age in ns at which the cgroups of a process are read again. A process
// can be moved at any time; a service is moved between its fork and its exec.
const fresh = int64(time.Second)

// mostProcesses bounds the processes whose facts are kept; when it is reached,
// all are dropped.
const mostProcesses = 1 << 13

// unknownUnit is the unit of a process that ended before its cgroups were read.
const unknownUnit = "unknown"

type process struct {
	id  uint64 // of its cgroup
	pid int32
}

// agedFacts are facts with the time at which they were read.
type agedFacts struct {
	*Facts
	at int64
}

type processes struct {
	proc string

	mu    sync.Mutex
	facts map[process]*agedFacts
}

// of returns the facts of a process; f are the facts of its cgroup in the
// hierarchy of perf_event, which has the number id. now is in ns.
func (p *processes) of(f *Facts, id uint64, pid int32, now int64) *Facts {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := process{id, pid}
	have := p.facts[key]
	if have != nil && now-have.at < fresh {
		return have.Facts
	}
	text, err := os.ReadFile(p.proc + "/" + strconv.Itoa(int(pid)) + "/cgroup")
	switch {
	case err == nil:
		whole := merge(f, string(text))
		have = &agedFacts{&whole, now}
	case have != nil: // the process has ended; its facts stay as they were
		have.at = now
	case f.Path != "" && f.Unit == "":
		whole := *f
		whole.Unit = unknownUnit
		have = &agedFacts{&whole, now}
	default:
		have = &agedFacts{f, now}
	}
	if len(p.facts) >= mostProcesses {
		clear(p.facts)
	}
	p.facts[key] = have
	return have.Facts
}

// OfThread reads the cgroups of a running thread of this machine: cpu is the path of the cgroup
// with the controller cpu, f are the facts found in all paths. ok is false if the thread has ended.
func OfThread(roots kernel.Roots, tid int32) (cpu string, f Facts, ok bool) {
	text, err := os.ReadFile(roots.ProcPath(strconv.Itoa(int(tid)), "cgroup"))
	if err != nil {
		return "", Facts{}, false
	}
	for line := range strings.Lines(string(text)) {
		list := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(list) != 3 {
			continue
		}
		if slices.Contains(strings.Split(list[1], ","), "cpu") || cpu == "" && list[0] == "0" {
			cpu = strings.TrimSuffix(list[2], " (deleted)")
		}
	}
	return cpu, merge(&Facts{}, string(text)), true
}

// merge adds to facts those found in the text of /proc/PID/cgroup: containers and
// pods of any hierarchy, the unit of systemd's hierarchy.
func merge(f *Facts, text string) Facts {
	whole := *f
	if whole.Unknown {
		whole = Facts{Path: f.Path}
	}
	unit, path := "", ""
	for line := range strings.Lines(text) {
		// ID:CONTROLLERS:PATH
		list := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(list) != 3 {
			continue
		}
		if list[1] == "perf_event" && f.Path != "" {
			continue // f has it, as of the time of the event
		}
		some := Parse(strings.TrimSuffix(list[2], " (deleted)"))
		if whole.Container == "" && some.Container != "" {
			whole.Container, whole.Runtime = some.Container, some.Runtime
		}
		if whole.Pod == "" {
			whole.Pod = some.Pod
		}
		if list[1] == "perf_event" || path == "" && list[0] == "0" {
			path = some.Path
		}
		if some.Unit != "" && (list[1] == "name=systemd" || unit == "" && list[0] == "0") {
			unit = some.Unit
		}
	}
	if unit != "" {
		whole.Unit = unit
	}
	if whole.Path == "" {
		whole.Path = path
	}
	return whole
}
