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

// This file asks processes for their cgroups. It is for machines with cgroups of version
// 1, where the hierarchy of perf_event need not have those of systemd and of a runtime.

// fresh is how long what a process said is believed: it may be moved at any time, as a
// service is between its fork and its exec.
const fresh = int64(time.Second)

// mostProcesses bounds the processes that are remembered.
const mostProcesses = 1 << 13

// unknownUnit is the unit of a process that was gone before it could be asked.
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

// of is what is known of a process, whose perf_event cgroup is f.
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
	case have != nil: // it has ended, and what it said is still right
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

// OfThread is what a thread that runs here tells of its cgroups: the path of that which shares CPUs
// out, and what the paths of all of them tell; false if it has ended.
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

// merge adds to facts what /proc/PID/cgroup tells beyond them: containers and pods of
// whatever hierarchy, the unit of systemd's own.
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
			continue // the event told it, of its own time
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
