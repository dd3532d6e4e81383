package kernel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Unlimited is the value of a limit that does not limit.
const Unlimited = math.MaxUint64

// A Limit is one resource limit of this process.
type Limit struct{ Soft, Hard uint64 }

// Limits are the resource limits that bound a session.
type Limits struct {
	// OpenFiles is RLIMIT_NOFILE: one file for each event on each CPU.
	OpenFiles Limit
	// LockedBytes is RLIMIT_MEMLOCK: rings beyond perf_event_mlock_kb, and BPF
	// maps before 5.11.
	LockedBytes Limit
}

// ReadLimits reads /proc/self/limits. The Go runtime has raised the soft limit
// of open files to the hard one before main started.
func ReadLimits(r Roots) (Limits, error) {
	var l Limits
	text, err := readLine(r.ProcPath("self/limits"))
	if err != nil {
		return l, fmt.Errorf("read limits: %w", err)
	}
	for name, limit := range map[string]*Limit{"Max open files": &l.OpenFiles, "Max locked memory": &l.LockedBytes} {
		if *limit, err = findLimit(text, name); err != nil {
			return Limits{}, fmt.Errorf("read limits: %w", err)
		}
	}
	return l, nil
}

func findLimit(text, name string) (Limit, error) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		if len(words) < 2 {
			return Limit{}, fmt.Errorf("%s: got %q, want two numbers", name, strings.TrimSpace(rest))
		}
		soft, err := limitValue(words[0])
		if err != nil {
			return Limit{}, fmt.Errorf("%s: %w", name, err)
		}
		hard, err := limitValue(words[1])
		if err != nil {
			return Limit{}, fmt.Errorf("%s: %w", name, err)
		}
		return Limit{soft, hard}, nil
	}
	return Limit{}, fmt.Errorf("%s: not listed", name)
}

func limitValue(s string) (uint64, error) {
	if s == "unlimited" {
		return Unlimited, nil
	}
	return strconv.ParseUint(s, 10, 64)
}
