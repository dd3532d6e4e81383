package oracle

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// One program counts all system calls: each with the name of its event, failed calls too, and no
// 32-bit calls.
func TestSystemCallsAreKnown(t *testing.T) {
	live(t, testkit.GCC, testkit.AMD64)
	program := compiled(t, "systemcalls.c", "-O1")
	f := func(want map[string]int64, args ...string) {
		t.Helper()
		args = append([]string{testkit.PPScript(t)}, args...)
		args = append(args, "--engine", "bpf", "--format", "json", "--", program)
		table := last(t, testkit.Run(t, args...).Want(t, 0).Stdout)
		noLoss(t, table)
		got := map[string]int64{}
		for _, r := range table.Rows {
			event := r.Text(t, "event")
			if _, known := want[event]; known || strings.HasSuffix(event, "semget") {
				got[event] = r.Int(t, "n")
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", args, got, want)
		}
	}
	f(map[string]int64{"sys_enter_getppid": 7, "sys_enter_newuname": 5, "sys_enter_newfstat": 11,
		"sys_enter_sendfile64": 13, "sys_enter_umount": 17},
		"-c", `tracepoint("syscalls:sys_enter_*").by("event").agg(n = agg.count())`)
	f(map[string]int64{"sys_exit_newfstat": 11, "sys_exit_sendfile64": 13, "sys_exit_umount": 17},
		"-c", `tracepoint("syscalls:sys_exit_*").where("ret < 0").by("event").agg(n = agg.count())`)
	f(map[string]int64{"sys_enter_newfstat": 11},
		"-c", `merge(*[tracepoint("syscalls:sys_enter_" + name) for name in ["newfstat", "fsync", `+
			`"fdatasync", "fchdir", "read", "write", "ioctl", "lseek", "close"]])`+
			`.where("(int)fd == -1").by("event").agg(n = agg.count())`)
}

// Counters of many system calls have the same values by one program and by perf, with other
// counters and alone, including calls that were not made.
func TestSystemCallsAreCounted(t *testing.T) {
	live(t, testkit.GCC, testkit.AMD64)
	program := compiled(t, "systemcalls.c", "-O1")
	const calls = "syscalls:sys_enter_getp*,syscalls:sys_enter_newf*,syscalls:sys_enter_sen*," +
		"syscalls:sys_enter_un*"
	explained := testkit.Run(t, testkit.PPScript(t), "explain", "funccount", "-e", calls).Want(t, 0).Stdout
	if want := "[one program counts all of these system calls]"; !strings.Contains(explained, want) {
		t.Errorf("got %s, want %s", explained, want)
	}
	f := func(engine string, args ...string) map[string]int64 {
		t.Helper()
		args = append([]string{testkit.PPScript(t)}, args...)
		args = append(args, "--engine", engine, "--format", "json", "--", program)
		table := last(t, testkit.Run(t, args...).Want(t, 0).Stdout)
		noLoss(t, table)
		got := map[string]int64{}
		for _, r := range table.Rows {
			got[r.Text(t, "event")] = r.Int(t, "hits")
		}
		return got
	}
	for _, args := range [][]string{{"funccount", "-e", calls, "--zero"},
		{"funccount", "-e", calls + ",sched:sched_process_exit,sched:sched_process_exec"}} {
		want, got := f("perf", args...), f("auto", args...)
		if !maps.Equal(got, want) || want["syscalls:sys_enter_newfstat"] != 11 ||
			want["syscalls:sys_enter_getppid"] != 7 || want["syscalls:sys_enter_sendfile64"] != 13 {
			t.Errorf("%q: got %v, want perf's %v", args, got, want)
		}
	}
}

// Programs count many other tracepoints, one program for each, as perf does: for a command, and
// for a CPU.
func TestTracepointsAreCounted(t *testing.T) {
	live(t)
	const events = "sched:sched_process_*,sched:sched_prepare_exec,task:task_newtask,task:task_rename," +
		"signal:*"
	explained := testkit.Run(t, testkit.PPScript(t), "explain", "funccount", "-e", events).Want(t, 0).Stdout
	var missing error
	if !strings.Contains(explained, "[a program counts it]") {
		missing = errors.New("a kernel from 6.2 on, before 7.0")
	}
	testkit.Requires(t, testkit.Optional("raw tracepoints that miss nothing", missing))
	f := func(engine string, options ...string) string {
		t.Helper()
		args := append([]string{testkit.PPScript(t), "funccount", "--zero", "-e", events, "--engine", engine,
			"--format", "json"}, options...)
		args = append(args, "--", "sh", "-c", "for i in 1 2 3 4 5 6 7; do /bin/true; done")
		table := last(t, testkit.Run(t, args...).Want(t, 0).Stdout)
		noLoss(t, table)
		var got []string
		for _, r := range table.Rows {
			// The counts of waits, of freed tasks and of signals depend on timing.
			switch name := r.Text(t, "event"); name {
			case "sched:sched_process_fork", "sched:sched_process_exec", "sched:sched_process_exit",
				"sched:sched_process_hang", "task:task_newtask":
				got = append(got, fmt.Sprint(name, " ", r.Int(t, "hits")))
			}
		}
		slices.Sort(got)
		return strings.Join(got, "\n")
	}
	want, got := f("perf"), f("auto")
	if got != want || !strings.Contains(got, "sched:sched_process_fork 7") {
		t.Errorf("got\n%s\nwant perf's, with 7 forks\n%s", got, want)
	}
}
