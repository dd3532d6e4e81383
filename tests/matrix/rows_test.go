package matrix

import "ppscript/tests/testkit"

// A row is a profiler: how it is started for a target, and the work of the
// target that it must show.
type row struct {
	args []string // the test replaces {comm}, {disk} and {left address}
	// scene is the work of the target; "" means calls.
	scene string
	count eventCounter
	// each is the number of observed events of each worker of the scene in each
	// round: exactly, or at least.
	each  int64
	least bool
	// text is the beginning of a line of text output; "" means the columns of
	// JSON.
	text string
	// whole means that the script is about CPUs, and refuses tasks.
	whole bool
	// everywhere means a whole script whose events are not only on the target's
	// CPU.
	everywhere bool
	// await waits until the events are printed, while the target rests.
	await bool
	opens int // how often it reports its opened events, if more than once

	// needs are features that not every machine has; a guest of tests/vm has
	// them.
	needs []testkit.Need

	// record has the events that are recorded of the target, or of CPU 0, for
	// --input. Otherwise recording is a file in tests/data with number events,
	// or unrecorded is the reason why there is none.
	record     string
	recordCPU  bool
	recording  string
	number     int64
	unrecorded string

	// no has the ways that do not apply, with the reasons.
	no map[string]string
	// source has the events that a trace with the profiler as its source shows
	// at least once, by the options between its slashes; noSource is the reason
	// why it cannot be a source.
	source   string
	noSource string
}

const (
	enter   = "raw_syscalls:sys_enter"
	getppid = enter + "/id == 110/"
	leave   = "raw_syscalls:sys_exit/id == 110/"
	both    = getppid + "," + leave

	// Only switches of the target, because those of the whole machine would
	// fill the rings.
	switches = `sched:sched_switch/prev_comm ~ "{comm}-*" || next_comm ~ "{comm}-*"/`
	sched    = switches + `,sched:sched_wakeup/comm ~ "{comm}-*"/,sched:sched_wakeup_new/comm ~ "{comm}-*"/`
)

// The work of each worker of a scene in each round.
const (
	paths    = 3 // chains of functions, each with a getppid
	calls    = 30 + 1<<paths
	lefts    = paths << paths / 2
	signals  = 4
	faults   = 20
	reads    = 8
	kvmExits = 298 + 299 + 298 + 298 + 14 // of tests/data/kvm.data
)

const (
	counts    = "it reads counters, which are no events"
	noGuest   = "there is no guest here; tests/vm has one"
	noCounter = "this needs the CPU's own counters; where they are missing it says so"
)

// matrix is every script of stdlib/.
var matrix = map[string]row{
	"trace": {
		args:   []string{"-e", getppid},
		count:  lines(enter),
		each:   calls,
		text:   logLine,
		record: getppid,
		source: "-e sched:sched_switch",
	},
	"script": {
		args:   []string{"-e", getppid},
		count:  lines(enter),
		each:   calls,
		text:   `(?m)^ +\S.* +\d+ \[\d+\] +\d+\.\d{6}: raw_syscalls:sys_enter: NR`,
		record: getppid,
		source: "-e sched:sched_switch",
	},
	"stat": {
		args:       []string{"-e", getppid},
		count:      rows("total", ""),
		each:       calls,
		text:       `(?m)^ *raw_syscalls:sys_enter +\d+`,
		unrecorded: counts,
		noSource:   counts,
	},
	"hrcount": {
		args:   []string{"-e", getppid},
		count:  rows("n", ""),
		each:   calls,
		text:   `(?m)^ *sys_enter +\d+\|? *`,
		record: getppid,
		source: "-e sched:sched_switch",
	},
	"top": {
		args:   []string{"-e", getppid},
		count:  rows("SYS_ENTER", "COMM"),
		each:   calls,
		record: getppid,
		source: "-e sched:sched_switch",
	},
	"num_dist": {
		args:   []string{"-e", getppid + "num=args[0]/"},
		count:  rows("calls", ""),
		each:   calls,
		record: getppid,
		source: "-e sched:sched_switch//num=prev_pid/",
	},
	"multi_trace": {
		args:   []string{"-k", "_tid", "-e", getppid, "-e", leave},
		count:  rows("calls", ""),
		each:   calls,
		record: both,
		source: "-k _cpu -e sched:sched_switch -e sched:sched_switch",
	},
	"syscalls": {
		args:   []string{"-e", getppid, "-e", leave},
		count:  rows("calls", ""),
		each:   calls,
		record: both,
		source: "--than 1",
	},
	"nested_trace": {
		args:   []string{"-k", "_tid", "-e", both},
		count:  rows("calls", ""),
		each:   calls,
		record: both,
		source: "-k _tid -e raw_syscalls:sys_enter,raw_syscalls:sys_exit",
	},
	"kmemprof": {args: []string{"-k", "_tid", "-e", getppid + "size=id/", "-e", leave},
		count: samples("stacks"), each: calls, text: `(?m)^\d+ \(\d+\.\d%\) bytes in \d+ samples`,
		record: both, source: "-k _tid -e raw_syscalls:sys_enter//size=id/ -e raw_syscalls:sys_exit"},
	"kmemleak": {args: []string{
		"--alloc", getppid + "ptr=args[0]/size=id/", "--free", "sched:sched_process_hang//ptr=pid/",
	}, count: rows("alloc", ""), each: calls,
		record: getppid + ",sched:sched_process_hang", noSource: "it tells what is left at the end"},
	"expr": {
		args:   []string{"-e", getppid, "args[0] + 1"},
		count:  lines(enter),
		each:   calls,
		text:   logLine,
		record: getppid,
		source: `-e sched:sched_switch prev_pid`,
	},
	"event_lost": {
		args:       []string{"-e", getppid},
		count:      rows("counted", ""),
		each:       calls,
		opens:      2,
		unrecorded: counts,
		noSource:   counts,
	},
	"sql": {args: []string{"-e", getppid, "--query", "select _tid, count(*) n from sys_enter group by 1"},
		count: rows("n", ""), each: calls,
		text: `(?m)^ *_tid \| +n$`, record: getppid, noSource: "it answers questions"},
	"syscall_trace": {
		args:   []string{"-e", "getppid"},
		count:  lines("call"),
		each:   calls,
		text:   logLine,
		record: both,
		source: "-e read",
	},
	"why": {
		args:   []string{"--syscall", "getppid", "--than", "1ns"},
		count:  explained,
		each:   calls,
		text:   ` slow spans? \(mean `,
		record: both + "," + sched,
		source: "rundelay --than 1ns",
	},
	"funccount": {
		args:       []string{"-e", getppid},
		count:      rows("hits", ""),
		each:       calls,
		unrecorded: counts + "; --sampled is top",
		noSource:   counts,
	},
	"signal": {args: []string{"--filter", "sig == 15 || sig == 28"}, count: lines("signal:signal_generate"),
		each: signals, text: logLine,
		record: "signal:signal_generate"},
	"page_faults": {
		count:  lines("software:page-faults"),
		each:   faults,
		least:  true,
		text:   logLine,
		record: "page-faults//period=1/",
	},
	"breakpoint": {scene: "apart", needs: []testkit.Need{testkit.Breakpoints},
		args: []string{"{left address}/8:x"}, count: lines("breakpoint.*"), each: lefts, text: logLine,
		unrecorded: "record takes no breakpoints",
		no: map[string]string{
			"cpu":    "a CPU has four breakpoints, which other tests use",
			"cgroup": "a CPU has four breakpoints, which other tests use",
		}, source: `"{left address}/8:x"`},
	"percpu_stat": {
		args:       []string{"--syscalls"},
		count:      rowsWhere("syscalls", "", notAll),
		each:       calls,
		least:      true,
		unrecorded: counts,
		noSource:   counts,
	},

	"profile": {args: []string{"-F", "997"}, scene: "busy",
		count: lines("software:cpu-clock|hardware:cycles"),
		each:  1, least: true, text: logLine, record: "cpu-clock",
		source: "-F 997"},

	"annotate": {args: []string{"-F", "997"}, scene: "busy", count: anybody(rows("samples", "")),
		each: 1, least: true, text: `(?m)^ *share +samples`, record: "cpu-clock",
		noSource: "its rows are of code"},

	// Switches and wake-ups. Not all kernels report switches from the idle
	// task, so the scene is on one CPU.
	"task_state": {
		args:      []string{"--perins"},
		scene:     "sched",
		count:     rowsWhere("calls", "comm", columnIs("St_text", "S")),
		each:      1,
		least:     true,
		record:    sched,
		recordCPU: true,
	},
	"oncpu": {
		scene:     "sched",
		count:     rows("runs", "comm"),
		each:      1,
		least:     true,
		text:      `(?m)^(CPU SUM\(ms\) COMM:TID\(ms\)|THREAD COMM +SUM\(ms\) CPUS\(ms\))`,
		record:    switches,
		recordCPU: true,
	},
	"rundelay": {
		args:      []string{"--perins"},
		scene:     "sched",
		count:     rows("calls", "comm"),
		each:      1,
		least:     true,
		record:    sched,
		recordCPU: true,
	},
	"sched_latency": {
		scene:     "sched",
		count:     rows("switches", "task"),
		each:      1,
		least:     true,
		record:    sched,
		recordCPU: true,
	},
	"sched_timehist": {
		scene:     "sched",
		count:     linesBy("run", field("task")),
		each:      1,
		least:     true,
		text:      logLine,
		record:    sched,
		recordCPU: true,
	},
	"sched_migrate": {
		scene:     "move",
		count:     rows("count", "comm"),
		each:      1,
		least:     true,
		record:    `sched:sched_migrate_task/comm ~ "{comm}-*"/`,
		recordCPU: true,
	},

	"sched_map": {
		scene:     "sched",
		whole:     true,
		count:     rows("", "comm"),
		each:      1,
		least:     true,
		text:      `(?m)^ ?.*\*.. `,
		record:    switches,
		recordCPU: true,
	},
	"hrtimer": {args: []string{"-e", getppid, "--period", "5ms"}, whole: true, await: true,
		count: hrtimerCalls, each: calls, least: true, text: logLine,
		record: getppid + ",cpu-clock", recordCPU: true, source: "--period 5ms"},
	"irq_off": {args: []string{"--period", "1ms", "--than", "1001us"}, whole: true, await: true,
		count: anybody(lines("irq-off")), each: 1, least: true, text: logLine,
		recording: "timer.data", number: 4, source: "--period 1ms --than 1001us"},
	"cpu_util": {
		scene:      "busy",
		whole:      true,
		opens:      2,
		count:      rows("", ""),
		each:       1,
		least:      true,
		unrecorded: counts,
		noSource:   counts,
	},
	"blktrace": {args: []string{"-d", "{disk}"}, scene: "disk", whole: true, everywhere: true,
		count: rowsWhere("reqs", "", columnIs("end_text", "block_rq_complete")), each: reads, least: true,
		record:    "block:block_getrq,block:block_rq_insert,block:block_rq_issue,block:block_rq_complete",
		recordCPU: true, noSource: "it would wait for another's disk"},
	"watchdog": {args: []string{"--thresh", "10s"}, whole: true, count: rows("expired", ""), each: 0,
		least: true, unrecorded: "it knows its timers by symbols of the machine that shows them",
		noSource: "it warns, and nothing is wrong here"},

	"kvm_exit": {
		count: rows("calls", ""), each: 0, recording: "kvm.data", number: kvmExits, noSource: noGuest,
	},
	"bpf_kvm_exit": {
		args:      []string{"--threshold", "0"},
		count:     rows("calls", ""),
		each:      0,
		recording: "kvm.data",
		number:    kvmExits,
		noSource:  noGuest,
	},
	"kvmmmu": {count: rows("created", ""), each: 0, recording: "kvmmmu.data", number: 4, noSource: noGuest},

	"c2c": {
		count:     rows("records", ""),
		recording: "sharing.data",
		number:    256, // in two tables
		no:        all(noCounter),
		noSource:  noCounter,
	},
	"ldlat_loads": {
		count:     rows("count", ""),
		recording: "memory.data",
		number:    45,
		no:        all(noCounter),
		noSource:  noCounter,
	},
	"ldlat_stores": {
		count:     rows("count", ""),
		recording: "memory.data",
		number:    15,
		no:        all(noCounter),
		noSource:  noCounter,
	},
	"llcstat":    {no: all(noCounter), unrecorded: counts, noSource: counts},
	"tlbstat":    {no: all(noCounter), unrecorded: counts, noSource: counts},
	"hwstat":     {no: all(noCounter), unrecorded: counts, noSource: counts},
	"split_lock": {no: all(noCounter), unrecorded: counts, noSource: counts},

	"misc": {
		no:         all("what changes in the kernel is in TestMiscTellsOfTheKernel"),
		unrecorded: "programs of the kernel are those of one machine",
		noSource:   "nothing changes here",
	},
	"kcore": {
		args:       []string{"0xffffffff81000000"},
		no:         all("it looks at memory, not at events"),
		unrecorded: "it looks at memory, not at events",
		noSource:   "it looks at memory, not at events",
	},
}

// all returns the same reason for each way of a target.
func all(why string) map[string]string {
	no := map[string]string{}
	for _, w := range ways {
		no[w] = why
	}
	return no
}
