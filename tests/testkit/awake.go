package testkit

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
)

// This file is about events of idle tasks, which perf does not deliver on each CPU of some machines.

// idleTrials are the tries of them, by CPU and part.
var idleTrials = sync.OnceValue(func() []kernel.IdleTrial {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return nil
	}
	return kernel.TryIdle("/sys/kernel/tracing", cpus)
})

// IdleEvents is the need of what perf tells of the idle task of a CPU: the switches from it, and the wake-ups
// in it. A test that takes them of perf, its own or the program's, declares it; one that can be made awake
// calls Awake.
func IdleEvents(cpu int) Need {
	return Need{fmt.Sprintf("perf's events of the idle task of CPU %d", cpu), false, func() string {
		for _, t := range idleTrials() {
			if t.CPU == cpu && t.Silent() {
				return fmt.Sprintf("%d of %d %s came; a restart may bring them back", t.Delivered, t.Hits,
					t.Part)
			}
		}
		return ""
	}}
}

// Awake has no CPU idle until the test ends whose idle task perf does not tell of, or may not: there, a
// thread of the lowest class computes, which is seen, and gives way to everything else.
func Awake(t testing.TB) {
	t.Helper()
	var awake []int
	for _, one := range idleTrials() {
		if one.Missing() == nil || slices.Contains(awake, one.CPU) {
			continue
		}
		awake = append(awake, one.CPU)
		t.Logf("%s of CPU %d: %v: a thread computes there", one.Part, one.CPU, one.Missing())
		p := StartFor(t, busyTime, "taskset", "-c", strconv.Itoa(one.CPU), "chrt", "--idle", "0",
			"sh", "-c", "while :; do :; done")
		t.Cleanup(func() { p.Stop() })
	}
}

// busyTime bounds the thread that computes, longer than a test takes.
const busyTime = 10 * time.Minute
