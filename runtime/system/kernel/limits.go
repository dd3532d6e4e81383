package kernel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// unlimited is the value of a limit that is not set.
const unlimited = math.MaxUint64

// A limit is one resource limit of this process.
type limit struct{ Soft, Hard uint64 }

// limits are the resource limits that bound a session.
type limits struct {
	// OpenFiles is RLIMIT_NOFILE: one file for each event on each CPU.
	OpenFiles limit
	// LockedBytes is RLIMIT_MEMLOCK: rings beyond perf_event_mlock_kb, and BPF
	// maps before 5.11.
	LockedBytes limit
}

// readLimits reads /proc/self/limits. The Go runtime has raised the soft limit
// of open files to the hard one before main started.
func readLimits(r Roots) (limits, error) {
	var l limits
	text, err := readLine(r.ProcPath("self/limits"))
	if err != nil {
		return l, fmt.Errorf("read limits: %w", err)
	}
	for name, limit := range map[string]*limit{
		"Max open files":    &l.OpenFiles,
		"Max locked memory": &l.LockedBytes,
	} {
		if *limit, err = findLimit(text, name); err != nil {
			return limits{}, fmt.Errorf("read limits: %w", err)
		}
	}
	return l, nil
}

// RingBytes is the memory of perf's rings that this user may map on a number of CPUs in total;
// math.MaxUint64 means no bound (perf_mmap in kernel/events/core.c).
func RingBytes(r Roots, cpus int) uint64 {
	if caps, err := ReadCaps(r); err == nil && caps.Has(CapIPCLock) || TracingIsOpen(r) {
		return unlimited
	}
	var bytes uint64
	if kb := readSetting(r.ProcPath("sys/kernel", "perf_event_mlock_kb")); kb.readable() {
		bytes = uint64(max(kb.Value, 0)) << 10 * uint64(cpus)
	}
	if l, err := readLimits(r); err == nil {
		bytes += min(l.LockedBytes.Soft, unlimited-bytes)
	}
	return bytes
}

func findLimit(text, name string) (limit, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) < 2 {
			return limit{}, fmt.Errorf("%s: got %q, want two numbers", name, strings.TrimSpace(rest))
		}
		soft, err := limitValue(words[0])
		if err != nil {
			return limit{}, fmt.Errorf("%s: %w", name, err)
		}
		hard, err := limitValue(words[1])
		if err != nil {
			return limit{}, fmt.Errorf("%s: %w", name, err)
		}
		return limit{soft, hard}, nil
	}
	return limit{}, fmt.Errorf("%s: not listed", name)
}

func limitValue(s string) (uint64, error) {
	if s == "unlimited" {
		return unlimited, nil
	}
	return strconv.ParseUint(s, 10, 64)
}
