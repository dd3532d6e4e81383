package session

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/plan"
	"ppscript/runtime/plan/placement"
	"ppscript/runtime/source/perf"
	"ppscript/runtime/source/tracefs"
	"ppscript/runtime/system/workload"
	"ppscript/tests/testkit"
)

// A command's own execve counts, also where somebody else's perf event makes the kernel call the classic
// tracepoint before the raw one.
func TestExecOfTheCommandIsSeen(t *testing.T) {
	needRoot(t)
	fs, err := tracefs.Find()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := fs.Schema("sched", "sched_process_exec")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT,
		Config: uint64(schema.ID), Sample: 1}, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		testkit.Requires(t, testkit.Optional("perf events", err))
	}
	defer unix.Close(fd)
	for _, engine := range []string{placement.EngineBPF, placement.EnginePerf} {
		// The name of the file is in the record, so that the program hangs at the classic tracepoint.
		s := tracepoint("sched:sched_process_exec")
		s.Filter = `filename ~ "*/session.test"`
		cfg := Config{Reports: []plan.Report{count(s)}, Target: target()}
		cfg.Options.Reading.Engine = engine
		lines, _, err := runJSON(t, cfg)
		if err != nil {
			t.Fatalf("engine %s: %v", engine, err)
		}
		if rows := rowsOf(t, lines); len(rows) != 1 || rows[0]["count"].(float64) != 1 {
			t.Errorf("engine %s: got %v, want one execve", engine, rows)
		}
	}
}

// A run that ends before its command ends it, and does not take that for the command's own end: also where
// a counter of CPUs observes the command by the way.
func TestEndedCommandHasNoStatus(t *testing.T) {
	needRoot(t)
	for _, system := range []bool{false, true} {
		counters := &plan.Counters{In: []*plan.Source{tracepoint("sched:sched_switch")}}
		cfg := Config{
			Reports: []plan.Report{count(counters)},
			Target:  perf.Target{System: system, Workload: &workload.Command{Args: []string{"sleep", "600"}}},
		}
		cfg.Options.Limits.Duration = 10 * time.Millisecond
		_, o, err := runJSON(t, cfg)
		if err != nil || o.Status != -1 || o.Signal != 0 {
			t.Errorf("all CPUs %v: got status %d, signal %d, %v; want -1, 0", system, o.Status, o.Signal, err)
		}
	}
}
