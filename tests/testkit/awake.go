package testkit

import (
	"strconv"
	"testing"
	"time"

	"ppscript/runtime/system/kernel"
)

// Awake has no CPU idle until the test ends whose idle thread perf does not see. On some
// machines, such as virtual ones that were moved, samples of one of these threads do not come,
// whatever the event: interrupts that come while the CPU is idle, and the wake-ups in them,
// would be missing natively, and in perf's own recordings, but not in programs. There, a
// thread of the lowest class computes: it is seen, and gives way to everything else.
func Awake(t testing.TB) {
	t.Helper()
	online, err := kernel.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]bool{}
	out := Run(t, PPScript(t), "-c",
		`tracepoint("sched:sched_switch").where("prev_pid == 0").by("_cpu").count()`,
		"--engine", "perf", "--duration", "300ms", "--format", "json").Want(t, 0)
	for _, row := range Tables(t, out.Stdout)[0].Rows {
		seen[row.Int(t, "_cpu")] = true
	}
	for _, cpu := range online {
		if seen[int64(cpu)] {
			continue
		}
		t.Logf("perf does not see CPU %d while it is idle: a thread computes there", cpu)
		p := StartFor(t, busyTime, "taskset", "-c", strconv.Itoa(cpu), "chrt", "--idle", "0",
			"sh", "-c", "while :; do :; done")
		t.Cleanup(func() { p.Stop() })
	}
}

// busyTime bounds the thread that computes, longer than a test takes.
const busyTime = 10 * time.Minute
