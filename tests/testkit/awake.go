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

// idleTrials are the results of trying these events, by CPU and part.
var idleTrials = sync.OnceValue(func() []kernel.IdleTrial {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		return nil
	}
	return kernel.TryIdle("/sys/kernel/tracing", cpus)
})

// IdleEvents is the need that perf delivers the events of a CPU's idle task: the switches from it,
// and the wake-ups in it. A test declares it if it, or ppscript in it, reads these events through
// perf; a test that can keep the CPUs busy calls Awake instead.
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

// Awake keeps CPUs busy until the test ends, if perf may not deliver the events of their idle task.
// On each of these CPUs a thread of the lowest scheduling class computes; perf delivers its events,
// and it gives way to every other thread.
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

// busyTime is the longest time for which the thread computes; no test takes
// longer.
const busyTime = 10 * time.Minute
