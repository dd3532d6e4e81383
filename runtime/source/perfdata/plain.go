package perfdata

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"ppscript/runtime/event"
)

// This file has the names of events that are no tracepoints, as in perf list.

var softwareNames = []string{ // PERF_COUNT_SW_*
	"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
	"major-faults", "alignment-faults", "emulation-faults", "dummy", "bpf-output", "cgroup-switches",
}

var hardwareNames = []string{ // PERF_COUNT_HW_*
	"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses",
	"bus-cycles", "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
}

// plainSchema makes the schema of an event without a record of its own.
func plainSchema(a *attr) *event.Schema {
	s := &event.Schema{Type: a.Type, ID: a.Config}
	pick := func(system string, names []string) {
		s.System = system
		if a.Config < uint64(len(names)) {
			s.Name = names[a.Config]
		}
	}
	switch a.Type {
	case unix.PERF_TYPE_HARDWARE:
		// On a hybrid machine, the upper half is the type of the PMU.
		pick("hardware", hardwareNames)
	case unix.PERF_TYPE_SOFTWARE:
		pick("software", softwareNames)
	case unix.PERF_TYPE_HW_CACHE:
		s.System = "cache"
	case unix.PERF_TYPE_RAW:
		s.System = "raw"
	case unix.PERF_TYPE_BREAKPOINT:
		s.System = "breakpoint"
	}
	if s.Name == "" {
		s.Name, _, _ = strings.Cut(a.name, ":")
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("type-%d-config-%#x", a.Type, a.Config)
	}
	return s
}
