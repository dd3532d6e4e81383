package main

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// This file has the jobs whose loop does other work than calls of getppid.

const (
	// pipeDivide makes the loop shorter where a step takes microseconds.
	pipeDivide, probedDivide = 20, 20
	fewKeys                  = workKeys + "10000"
	manyKeys                 = workKeys + "1000000"
)

// waits returns the jobs for threads that wake each other up, with some 4 switches and
// wake-ups in a step.
func waits(ppscript string) []*job {
	const group = "run-queue latency of two threads and a pipe"
	row := func(name string, ours bool, args ...string) *job {
		return &job{group: group, name: name, ours: ours, args: args, work: workPipe, divide: pipeDivide,
			noCount: true}
	}
	us := func(name string, args ...string) *job {
		args = append([]string{ppscript, "rundelay", "--engine", "bpf"}, args...)
		return row(name, true, append(args, "--", loopWord)...)
	}
	return []*job{
		row("bpftrace", false, "bpftrace", "-c", loopWord, "-e",
			"tracepoint:sched:sched_wakeup { @begun[args->pid] = nsecs; } tracepoint:sched:sched_switch "+
				"{ if (args->prev_state == 0) { @begun[args->prev_pid] = nsecs; } if (@begun[args->next_pid]) "+
				"{ @ = stats(nsecs - @begun[args->next_pid]); delete(@begun[args->next_pid]); } }"),
		us("ppscript rundelay"),
		us("ppscript rundelay --than --detail", "--than", "10ms", "--detail=samecpu"),
		us("ppscript rundelay --than", "--than", "10ms"),
	}
}

// keys returns the jobs in which many operations begin before the first of them
// ends.
func keys(ppscript string) (list []*job) {
	const enter = `tracepoint("raw_syscalls:sys_enter", filter = "id == %d")`
	begin := fmt.Sprintf(enter+`.where(lambda e: e.args[1] == %d)`, unix.SYS_GETPPID, keyBegins)
	end := fmt.Sprintf(enter+`.where(lambda e: e.args[1] == %d)`, unix.SYS_GETPPID, keyEnds)
	of := fmt.Sprintf("join([%s], [%s], key = lambda e: e.args[0], limit = 1 << 20).latency()", begin, end)
	for _, work := range []string{fewKeys, manyKeys} {
		group := "things that wait: " + work[len(workKeys):]
		row := func(name string, ours bool, args ...string) {
			list = append(list, &job{group: group, name: name, ours: ours, args: args, work: work,
				noCount: true})
		}
		row("ppscript, native", true, ppscript, "--engine", "perf", "-c", of, "--", loopWord)
		row("ppscript", true, ppscript, "--engine", "bpf", "-c", of, "--", loopWord)
	}
	return list
}

// probes returns the jobs that probe a function of the loop, and the kernel's function
// for its system call.
func probes(ppscript string) (list []*job) {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	functions := map[string]string{"amd64": "__x64_sys_getppid", "arm64": "__arm64_sys_getppid"}
	function := functions[runtime.GOARCH]
	for _, p := range []struct {
		what, work            string
		needs                 func() error
		divide                int
		probe, ret            string // of ours
		theirProbe, theirBack string // of bpftrace
	}{
		{
			what: "a function of a program in C", work: workC, divide: probedDivide,
			probe:      fmt.Sprintf("uprobe(%q, %q)", programWord, "probed"),
			ret:        fmt.Sprintf("uretprobe(%q, %q)", programWord, "probed"),
			theirProbe: "uprobe:" + programWord + ":probed",
			theirBack:  "uretprobe:" + programWord + ":probed",
		},
		{
			// bpftrace changes the return addresses on the stack, which can crash a Go program.
			// ppscript probes the instructions that return, each hit of which is a trap.
			what: "a function of a program in Go", work: workProbed, divide: probedDivide,
			probe:      fmt.Sprintf("uprobe(%q, %q)", self, probedName),
			ret:        fmt.Sprintf("uretprobe(%q, %q)", self, probedName),
			theirProbe: fmt.Sprintf("uprobe:%s:%q", self, probedName),
			theirBack:  fmt.Sprintf("uretprobe:%s:%q", self, probedName),
		},
		{
			what: "a function of the kernel", work: workCalls, needs: kernelProbes, divide: 1,
			probe: fmt.Sprintf("kprobe(%q)", function), ret: fmt.Sprintf("kretprobe(%q)", function),
			theirProbe: "kprobe:" + function, theirBack: "kretprobe:" + function,
		},
	} {
		for _, m := range []struct{ how, ours, theirs string }{
			{"count", p.probe + ".count()", p.theirProbe + " { @ = count(); }"},
			{
				"latency", fmt.Sprintf(`join([%s], [%s], key = "_tid").latency()`, p.probe, p.ret),
				p.theirProbe + " { @begun[tid] = nsecs; } " + p.theirBack +
					" /@begun[tid]/ { @ = stats(nsecs - @begun[tid]); delete(@begun[tid]); }",
			},
			{"count by stack", p.probe + ".stack().stacks()", p.theirProbe + " { @[ustack, kstack] = count(); }"},
		} {
			row := func(name string, ours bool, args ...string) {
				list = append(list, &job{group: p.what + ": " + m.how, name: name, ours: ours, args: args,
					work: p.work, needs: p.needs, divide: p.divide})
			}
			row("bpftrace", false, "bpftrace", "-c", loopWord, "-e", m.theirs)
			row("ppscript, native", true, ppscript, "--engine", "perf", "-c", m.ours, "--", loopWord)
			row("ppscript", true, ppscript, "--engine", "bpf", "-c", m.ours, "--", loopWord)
		}
	}
	return list
}

// probedName is the symbol of probed.
const probedName = "main.probed"
