package main

import (
	"slices"
	"time"
)

// A job is one command that traces the loop, with its results.
type job struct {
	group string // the question that is measured; rows of a group are compared
	name  string
	args  []string // the command; loopWord stands for the traced program
	ours  bool
	work  string       // of the loop
	needs func() error // why it cannot be measured here; nil if it can
	// noCount means that the tracer's output has no number of events, so that
	// it cannot be checked.
	noCount bool
	// divide makes the loop shorter by this factor, for a tracer that would
	// take minutes; 0 is the same as 1. Results are per call, so rows remain
	// comparable.
	divide int

	ns       []float64 // per call, one for each good round
	start    []float64 // ms from the tracer's start to the loop's
	peak     float64   // peak memory of the tracer or the loop, in MB
	observed bool      // every run's output had the number of calls
	err      error     // of the last bad round
}

// loopWord is replaced by the program's command line: by several words, or
// within a word for tracers that take the command as one word.
const loopWord = "{loop}"

// programWord is replaced by the path of the program in C.
const programWord = "{program}"

const bareGroup = "bare"

// jobs returns the table of jobs that are compared, for the tracers that are
// installed.
func jobs(ppscript string) []*job {
	const (
		total   = "count system calls"
		count   = "count by system call"
		keyed   = "count by other keys than the number of the system call"
		latency = "enter-to-exit latency by system call"
		slow    = "system calls that take longer than 10 ms"
		enter   = "raw_syscalls:sys_enter"
		exit    = "raw_syscalls:sys_exit"
		byID    = "raw_syscalls:sys_enter//key=id/"
		fields  = "three fields of every system call"
		reject  = "a filter that rejects every system call"
		kernel  = "count by kernel stack"
		user    = "count by user stack"
		machine = "time between a thread's system calls, a state machine"
		none    = `tracepoint("raw_syscalls:sys_enter").where("id == 9999").count()`
		kstack  = `tracepoint("raw_syscalls:sys_enter").stack(user = False).stacks()`
		ustack  = `tracepoint("raw_syscalls:sys_enter").stack(kernel = False).stacks()`
		gap     = "tests/bench/gap.star"
		lastOf  = `tracepoint("raw_syscalls:sys_exit").by("id").agg(calls = agg.count(), ret = agg.last("ret"), at = agg.last("_time"))`
	)
	by := func(key string) string {
		return `tracepoint("raw_syscalls:sys_enter").by(` + key + `).count()`
	}
	tuple := "lambda e: (e._tid, e.id)"
	choice := `lambda e: "getppid" if e.id == syscall_number("getppid") else "other"`
	all := []*job{
		{group: bareGroup, name: "bare", args: []string{loopWord}, noCount: true},
		{group: bareGroup, name: "bare, pipe", args: []string{loopWord}, noCount: true, work: workPipe, divide: pipeDivide},
		{group: bareGroup, name: "bare, function", args: []string{loopWord}, noCount: true, work: workProbed},
		{group: bareGroup, name: "bare, C", args: []string{loopWord}, noCount: true, work: workC},
		{group: bareGroup, name: "bare, keys", args: []string{loopWord}, noCount: true, work: fewKeys},
		{group: bareGroup, name: "bare, many keys", args: []string{loopWord}, noCount: true, work: manyKeys},

		{group: total, name: "perf stat", args: []string{"perf", "stat", "-e", enter, "--", loopWord}},
		{group: total, name: "ppscript stat", args: []string{ppscript, "stat", "-i", "60s", "-e", enter, "--", loopWord}, ours: true},

		{group: count, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @[args->id] = count(); }"}},
		{group: count, name: "perf-prof top", args: []string{"perf-prof", "top", "-e", byID, "--", loopWord}},
		{group: count, name: "ppscript top, native", args: []string{ppscript, "top", "--engine", "perf", "-e", byID, "--", loopWord}, ours: true},
		{group: count, name: "ppscript top", args: []string{ppscript, "top", "--engine", "bpf", "-e", byID, "--", loopWord}, ours: true},

		{group: keyed, name: "ppscript, id", args: []string{ppscript, "--engine", "bpf", "-c", by(`"id"`), "--", loopWord}, ours: true},
		{group: keyed, name: "ppscript, e.args[0]", args: []string{ppscript, "--engine", "bpf", "-c", by("lambda e: e.args[0]"), "--", loopWord}, ours: true, noCount: true},
		{group: keyed, name: "ppscript, a tuple", args: []string{ppscript, "--engine", "bpf", "-c", by(tuple), "--", loopWord}, ours: true},
		{group: keyed, name: "ppscript, one of two texts", args: []string{ppscript, "--engine", "bpf", "-c", by(choice), "--", loopWord}, ours: true},
		{group: keyed, name: "bpftrace, args[0]", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @[args->args[0]] = count(); }"}, noCount: true},
		{group: keyed, name: "bpftrace, a tuple", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @[tid, args->id] = count(); }"}},

		{group: reject, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter /args->id == 9999/ { @ = count(); }"}, noCount: true},
		{group: reject, name: "ppscript, native", args: []string{ppscript, "--engine", "perf", "-c", none, "--", loopWord}, ours: true, noCount: true},
		{group: reject, name: "ppscript", args: []string{ppscript, "--engine", "bpf", "-c", none, "--", loopWord}, ours: true, noCount: true},

		{group: kernel, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @[kstack] = count(); }"}},
		{group: kernel, name: "ppscript, native", args: []string{ppscript, "--engine", "perf", "-c", kstack, "--", loopWord}, ours: true},
		{group: kernel, name: "ppscript", args: []string{ppscript, "--engine", "bpf", "-c", kstack, "--", loopWord}, ours: true},

		{group: user, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @[ustack] = count(); }"}},
		{group: user, name: "ppscript, native", args: []string{ppscript, "--engine", "perf", "-c", ustack, "--", loopWord}, ours: true},
		{group: user, name: "ppscript", args: []string{ppscript, "--engine", "bpf", "-c", ustack, "--", loopWord}, ours: true},

		{group: machine, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { if (@last[tid]) { @[args->id] = stats(nsecs - @last[tid]); } @last[tid] = nsecs; }"}},
		{group: machine, name: "ppscript, native", args: []string{ppscript, gap, "--engine", "perf", "--", loopWord}, ours: true},
		{group: machine, name: "ppscript", args: []string{ppscript, gap, "--engine", "bpf", "--", loopWord}, ours: true},

		{group: fields, name: "perf trace", args: []string{"perf", "trace", "-o", "/dev/null", "-e", "getppid", "--", loopWord}, divide: 20, noCount: true},
		{group: fields, name: "bpftrace printf", args: []string{"bpftrace", "-o", "/dev/null", "-c", loopWord, "-e",
			`tracepoint:raw_syscalls:sys_exit { printf("%d %d %d\n", tid, args->id, args->ret); }`},
			divide: 4, noCount: true},
		{group: fields, name: "ppscript, whole records", args: []string{ppscript, "--engine", "perf", "-c", lastOf, "--", loopWord}, ours: true},
		{group: fields, name: "ppscript, projected records", args: []string{ppscript, "--engine", "bpf", "-c", lastOf, "--", loopWord}, ours: true},

		{group: latency, name: "perf trace -s", args: []string{"perf", "trace", "-s", "--", loopWord}, divide: 20},
		{group: latency, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @begun[tid] = nsecs; } " +
				"tracepoint:raw_syscalls:sys_exit /@begun[tid]/ { @[args->id] = stats(nsecs - @begun[tid]); delete(@begun[tid]); }"}},
		{group: latency, name: "perf-prof syscalls", args: []string{"perf-prof", "syscalls", "-e", enter, "-e", exit, "--", loopWord}},
		{group: latency, name: "ppscript syscalls, native", args: []string{ppscript, "syscalls", "--engine", "perf", "-e", enter, "-e", exit, "--", loopWord}, ours: true},
		{group: latency, name: "ppscript syscalls", args: []string{ppscript, "syscalls", "--engine", "bpf", "-e", enter, "-e", exit, "--", loopWord}, ours: true},

		{group: slow, name: "bpftrace", args: []string{"bpftrace", "-c", loopWord, "-e",
			"tracepoint:raw_syscalls:sys_enter { @begun[tid] = nsecs; } " +
				"tracepoint:raw_syscalls:sys_exit /@begun[tid]/ { if (nsecs - @begun[tid] > 10000000) { printf(\"%d %d\\n\", tid, args->id); } delete(@begun[tid]); }"}, noCount: true},
		{group: slow, name: "ppscript syscalls --than, native", args: []string{ppscript, "syscalls", "--engine", "perf", "--than", "10ms", "--", loopWord}, ours: true},
		{group: slow, name: "ppscript syscalls --than", args: []string{ppscript, "syscalls", "--engine", "bpf", "--than", "10ms", "--", loopWord}, ours: true},
		{group: slow, name: "ppscript syscalls --than --detail", args: []string{ppscript, "syscalls", "--engine", "bpf", "--than", "10ms", "--detail=samecpu", "--", loopWord}, ours: true},
	}
	all = append(all, waits(ppscript)...)
	all = append(all, keys(ppscript)...)
	return append(all, probes(ppscript)...)
}

// limit bounds the time of one run; no tracer makes the loop a hundred times
// slower.
const limit = time.Minute

// median returns the median of a job's good rounds; ok is false if there is
// none.
func (j *job) median() (ns float64, ok bool) {
	if len(j.ns) == 0 {
		return 0, false
	}
	return median(j.ns), true
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
