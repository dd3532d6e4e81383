// Package shipped runs every profiler of stdlib/ over recordings and compares
// the output with stored files, as text, JSON and CSV.
//
// The files in testdata/ are named for the profiler and the case. After an
// intended change, write them anew and read the difference:
//
//	go test ./tests/shipped -update
package shipped

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ppscript/stdlib"
	"ppscript/tests/formats"
	"ppscript/tests/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var update = flag.Bool("update", false, "write testdata anew")

// A run is one profiler over one recording.
type run struct {
	name string // name of its files
	data string // in tests/data
	args []string
}

const both = "raw_syscalls:sys_enter,raw_syscalls:sys_exit"

// runs has every profiler, with the options that change what it computes.
var runs = map[string][]run{
	"irq_off": {
		{"", "timer.data", []string{"--period", "1ms", "--than", "1004us", "--time", "rel"}},
		{"kernel", "timer.data", []string{"--period", "1ms", "--than", "1004us", "--exclude-user"}},
	},
	"kmemleak": {
		{"", "load.data", []string{"--alloc", "raw_syscalls:sys_enter//ptr=_tid/size=id/", "--free", "raw_syscalls:sys_exit//ptr=_tid/", "--comm"}},
		{"list", "load.data", []string{"--alloc", "raw_syscalls:sys_enter//ptr=_tid/", "--free", "raw_syscalls:sys_exit//ptr=_tid/", "--than", "1us"}},
		{"bytes", "load.data", []string{"--alloc", "kmem:kmalloc", "--free", "raw_syscalls:sys_exit//ptr=_tid/", "--comm"}},
	},
	"expr": {
		{"", "load.data", []string{"-e", "signal:signal_generate", "-N", "3", "sig * 10 + (common_pid > 0)"}},
		{"text", "load.data", []string{"-e", "signal:signal_generate", "-N", "2", `comm ~ "lo*" ? comm : "other"`}},
	},
	"funccount": {
		{"", "load.data", []string{"--sampled", "-e", "sched:*,raw_syscalls:*"}},
		{"perins", "load.data", []string{"--sampled", "--perins", "-e", "sched:sched_wakeup*", "--top", "5"}},
	},
	"hrcount": {
		{"", "load.data", []string{"-e", "sched:sched_switch,sched:sched_wakeup", "--period", "2ms"}},
		{"perins", "load.data", []string{"-e", "sched:sched_switch,sched:sched_wakeup//alias=woken/", "--period", "2ms", "--perins"}},
		{"intervals", "load.data", []string{"-e", "sched:sched_switch,sched:sched_wakeup", "--period", "2ms", "-i", "10ms"}},
	},
	"hrtimer": {
		{"", "timer.data", []string{"--period", "1ms", "-e", "sched:sched_switch", "-e", "raw_syscalls:sys_enter//alias=calls/", "sched_switch > 5 && calls < 20"}},
		{"all", "timer.data", []string{"-F", "1000", "--time", "rel"}},
	},
	"bpf_kvm_exit": {
		{"", "kvm.data", []string{"--threshold", "0"}},
		{"than", "kvm.data", []string{"--than", "4ms", "--detail"}},
	},
	"kvm_exit": {
		{"", "kvm.data", nil},
		{"perins", "kvm.data", []string{"--perins"}},
		{"than", "kvm.data", []string{"--than", "3ms"}},
		{"filter", "kvm.data", []string{"--filter", "exit_reason != 0x78 && exit_reason < 0x400", "--than", "500us"}},
		{"rel", "kvm.data", []string{"--than", "4ms", "--time", "rel"}},
	},
	"kvmmmu": {
		{"", "kvmmmu.data", []string{"--spte", "--mmio"}},
		{"detail", "kvmmmu.data", []string{"--detail", "--events"}},
	},
	"c2c": {
		{"", "sharing.data", nil},
		{"line", "sharing.data", []string{"--line", "128", "--top", "2"}},
	},
	"ldlat_loads": {
		{"", "memory.data", nil},
		{"than", "memory.data", []string{"--ldlat", "200", "--than", "500", "--perins"}},
	},
	"ldlat_stores": {
		{"", "memory.data", []string{"--perins"}},
	},
	"multi_trace": {
		{"", "load.data", []string{"-e", "sched:sched_wakeup//key=pid/", "-e", "sched:sched_switch//key=next_pid/", "--than", "100us"}},
		{"perins", "load.data", []string{"-k", "_tid", "--perins", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"}},
		{"pair", "load.data", []string{"-k", "_tid", "--impl", "pair", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"}},
		{"unfinished", "load.data", []string{"--than", "5ms", "--unfinished", "--detail=samekey",
			"-e", "sched:sched_switch//key=prev_pid/", "-e", "sched:sched_wakeup//key=pid/"}},
		{"syscalls", "load.data", []string{"--impl", "syscalls", "-e", "raw_syscalls:sys_enter", "-e", "raw_syscalls:sys_exit"}},
		{"printkey", "load.data", []string{"--perins", "-e", `raw_syscalls:sys_enter//key=id/printkey=printf("%d %s",key,syscall_name(key))/`,
			"-e", "raw_syscalls:sys_exit//key=id/"}},
		{"kvm", "kvm.data", []string{"-k", "_tid", "--cycle", "-e", "kvm:kvm_exit", "-e", "kvm:kvm_entry"}},
	},
	"nested_trace": {
		{"", "load.data", []string{"-k", "_tid", "-e", "raw_syscalls:sys_enter,raw_syscalls:sys_exit", "-e", "irq:softirq_entry,irq:softirq_exit"}},
		{"detail", "load.data", []string{"-k", "_tid", "--impl", "delay", "--than", "500us", "--detail=sametid,hide<2us,-20us",
			"-e", "raw_syscalls:sys_enter/id == 230/,raw_syscalls:sys_exit/id == 230/", "-e",
			"irq:softirq_entry,irq:softirq_exit,sched:sched_switch//untraced/"}},
	},
	"num_dist": {
		{"", "load.data", []string{"-e", "kmem:kmalloc//num=bytes_alloc/", "-e", "sched:sched_stat_runtime//num=runtime/"}},
		{"perins", "load.data", []string{"-e", "sched:sched_stat_runtime//num=runtime/alias=ran/", "--perins"}},
		{"than", "load.data", []string{"-e", "kmem:kmalloc//num=bytes_req/", "--than", "2000"}},
		{"times", "load.data", []string{"-e", "sched:sched_stat_runtime//num=runtime/", "--than", "1ms"}},
		{"filter", "zstd.data", []string{"-e", "raw_syscalls:sys_exit/id == 1/num=ret/"}},
	},
	"oncpu": {
		{"", "load.data", nil},
		{"detail", "load.data", []string{"--detail"}},
		{"comm", "trace.data", []string{"--only-comm"}},
		{"threads", "load.data", []string{"--threads"}},
		{"prio", "load.data", []string{"--prio", "0-99,120"}},
		{"threads-comm", "load.data", []string{"--threads", "--detail", "--only-comm"}},
		{"smt", "load.data", []string{"--threads", "--detail", "--smt", "0,1"}},
	},
	"page_faults": {
		{"comm", "stacks.data", []string{"--by-comm"}},
	},
	"rundelay": {
		{"", "load.data", nil},
		{"perins", "load.data", []string{"--perins", "--filter", "load*"}},
		{"than", "load.data", []string{"--than", "1ms"}},
	},
	"sched_latency": {
		{"", "load.data", nil},
	},
	"sched_map": {
		{"", "load.data", nil},
		{"comms", "zstd.data", []string{"--comms"}},
		{"only", "trace.data", []string{"--only", "sh,sleep*"}},
	},
	"sched_timehist": {
		{"", "load.data", nil},
		{"summary", "load.data", []string{"--summary", "--filter", "load*,sh"}},
		{"all", "trace.data", []string{"-w", "--with-summary"}},
		{"than", "load.data", []string{"--than", "100us", "--state", "SD"}},
	},
	"sched_migrate": {
		{"", "cpus.data", nil},
		{"table", "cpus.data", []string{"--table"}},
	},
	"signal": {
		{"", "load.data", nil},
		{"filter", "load.data", []string{"--filter", "sig == 10"}},
		{"names", "load.data", []string{"--filter", "nobody,sle*"}},
	},
	"split_lock": {
		{"", "locks.data", []string{"--exclude-guest"}},
		{"perins", "locks.data", []string{"-v", "--perins"}},
	},
	"sql": {
		{"", "load.data", []string{"-e", "sched:sched_stat_runtime,raw_syscalls:sys_enter", "--verify", "--query",
			"select comm, count(*) n, sum(runtime) ran from sched_stat_runtime group by comm order by ran desc limit 5;" +
				"select syscall(id) call, count(*) n from sys_enter group by id order by n desc, call limit 5;" +
				"select * from sys_enter where 0"}},
		{"join", "load.data", []string{"-e", "sched:sched_wakeup//alias=woken/,sched:sched_switch//alias=sw/index=next_pid/", "--query",
			"select comm, count(*) n, max(delay) longest from (select comm, (select min(_time) from sw where next_pid = woken.pid and _time > woken._time)" +
				" - _time delay from woken) group by comm order by longest desc limit 5"}},
		{"metadata", "load.data", []string{"-e", "sched:sched_switch/prev_pid > 0/,irq:softirq_entry//alias=soft/", "--query",
			"select table_name, event_name, filter_expression, field_count, sample_count, last_sample_time - first_sample_time, function_list from event_metadata;" +
				"select symbolic('soft.vec', vec) vec, count(*) n from soft group by 1 order by 2 desc"}},
	},
	"syscall_trace": {
		{"", "trace.data", nil},
		{"failed", "load.data", []string{"--failed"}},
		{"calls", "load.data", []string{"-e", "clock_nanosleep,exit_group", "--than", "100us"}},
	},
	"syscalls": {
		{"", "load.data", nil},
		{"perins", "load.data", []string{"--perins"}},
		{"than", "load.data", []string{"--than", "2ms"}},
		{"errors", "load.data", []string{"-e", "raw_syscalls:sys_enter/id == 257/", "-e", "raw_syscalls:sys_exit/id == 257/"}},
		{"pipe", "pipe.data", nil},
		{"zstd", "zstd.data", nil},
	},
	"task_state": {
		{"", "load.data", nil},
		{"perins", "load.data", []string{"--perins", "--filter", "load*,echo*"}},
		{"sleeping", "load.data", []string{"-S", "--than", "10ms"}},
		{"than", "load.data", []string{"--than", "1ms"}},
	},
	"top": {
		{"printkey", "kvm.data", []string{"-e", "kvm:kvm_exit//key=exit_reason/printkey=exit_reason_str(2, key)/"}},
		{"", "load.data", []string{"-e", "raw_syscalls:sys_enter//key=id/"}},
		{"thread", "load.data", []string{"-e", both}},
		{"by", "load.data", []string{"-e", "sched:sched_stat_runtime//key=pid/comm=comm/top-by=runtime/"}},
		{"add", "load.data", []string{"-e", "kmem:kmalloc//top-by=bytes_alloc/top-add=bytes_req/alias=bytes/", "-e", "page-faults//alias=faults/"}},
		{"comm", "load.data", []string{"--only-comm", "-e", "sched:sched_switch//key=prev_pid/comm=prev_comm/"}},
		{"key", "load.data", []string{"-k", "cpu", "-e", "sched:sched_switch,sched:sched_wakeup"}},
		{"software", "stacks.data", []string{"-e", "page-faults"}},
	},
	"trace": {
		{"", "cpus.data", []string{"-e", "sched:*"}},
		{"filter", "load.data", []string{"-e", "raw_syscalls:sys_enter/id == 110/alias=getppid/", "-e", "signal:signal_generate", "-N", "20"}},
		{"exec", "load.data", []string{"-e", `signal:signal_generate//exec='printf("%d from %d\n", sig, common_pid)'/`}},
		{"delta", "trace.data", []string{"-e", "sched:*", "--time", "delta"}},
		{"profilers", "load.data", []string{"-e", "signal:signal_generate,task-state/--filter load* -S/,syscalls/--than 200us/alias=slow/"}},
	},
	"script": {
		{"", "cpus.data", []string{"-e", "sched:*"}},
		{"fields", "load.data", []string{"-e", "signal:signal_generate,page-faults", "-F", "comm,pid,tid,time,event", "-F", "+addr", "--ns"}},
	},
	"why": {
		{"", "load.data", []string{"rundelay", "--than", "500us"}},
		{"syscall", "load.data", []string{"--syscall", "clock_nanosleep,wait4", "--than", "1ms"}},
	},
}

// liveOnly are profilers that cannot run over recordings, because they read
// counters.
var liveOnly = []string{"stat", "percpu_stat", "event_lost", "cpu_util", "hwstat", "llcstat", "tlbstat"}

// unrecorded has the other profilers that no recording shows, with the reasons.
var unrecorded = map[string]string{
	"misc":       "programs of the kernel are those of one machine",
	"kcore":      "it reads memory, not events",
	"watchdog":   "it knows its timers by symbols of the machine that shows them",
	"annotate":   "the code is that of the files of the machine that shows it",
	"profile":    "symbols are those of the files of the machine that shows them",
	"breakpoint": "a recording has no breakpoints: record does not take them",
	"kmemprof":   "its addresses are those of one boot",
	"blktrace":   "no recording has block events: the disks of the machine that makes them are shared",
}

func TestProfilers(t *testing.T) {
	for _, script := range stdlib.Names() {
		if slices.Contains(liveOnly, script) || unrecorded[script] != "" {
			continue
		}
		if len(runs[script]) == 0 {
			t.Errorf("%s: no recording shows what it prints; add it to runs", script)
		}
		for _, r := range runs[script] {
			t.Run(strings.TrimSuffix(script+"-"+r.name, "-"), func(t *testing.T) {
				t.Parallel()
				golden(t, script, r)
			})
		}
	}
}

func golden(t *testing.T, script string, r run) {
	outputs := map[string]string{}
	defer func() { fits(t, outputs) }()
	for _, format := range []string{"text", "json", "csv"} {
		args := append([]string{
			testkit.PPScript(t), script, "--input", filepath.Join("../data", r.data), "--format", format,
		}, r.args...)
		out := testkit.Run(t, args...).Want(t, 0)
		file := filepath.Join("testdata",
			strings.TrimSuffix(script+"-"+r.name, "-")+"."+strings.Replace(format, "text", "txt", 1))
		got := out.Stdout
		outputs[format] = got
		if out.Stderr != "" {
			got += "stderr:\n" + out.Stderr
		}
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: %s", file, firstDifference(got, string(want)))
		}
	}
}

// fits checks the output against docs/formats.md, and that CSV and JSON have
// the same numbers.
func fits(t *testing.T, outputs map[string]string) {
	f := formats.Read(t)
	for _, wrong := range slices.Concat(f.JSON(outputs["json"]), f.CSV(outputs["csv"]),
		f.Agree(outputs["json"], outputs["csv"])) {
		t.Error(wrong)
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d:\ngot  %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("got %d lines, want %d", len(g), len(w))
}

// No file in testdata is left over from a case that was renamed.
func TestNoStaleFiles(t *testing.T) {
	var want []string
	for script, list := range runs {
		for _, r := range list {
			name := strings.TrimSuffix(script+"-"+r.name, "-")
			want = append(want, name+".txt", name+".json", name+".csv")
		}
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(want, e.Name()) {
			t.Errorf("testdata/%s belongs to no case", e.Name())
		}
	}
}

// Profilers of counters refuse a recording with a reason.
func TestLiveOnly(t *testing.T) {
	for _, script := range liveOnly {
		args := []string{testkit.PPScript(t), script, "--input", "../data/timer.data"}
		if script == "stat" || script == "event_lost" {
			args = append(args, "-e", "sched:sched_switch")
		}
		out := testkit.Run(t, args...)
		if out.Exit != 2 && out.Exit != 3 || !strings.Contains(out.Stderr, "counters") ||
			!strings.Contains(out.Stderr, "hint: ") || out.Stdout != "" {
			t.Errorf("%s: got status %d, %q, want an error about counters with a hint", script,
				out.Exit, out.Stderr)
		}
	}
}

// The numbers in load.data that are known in advance.
func TestKnownNumbers(t *testing.T) {
	f := func(want int64, column string, match func(testkit.Row) bool, args ...string) {
		t.Helper()
		out := testkit.Run(t,
			append([]string{testkit.PPScript(t), "--input", "../data/load.data", "--format", "json"},
				args...)...).Want(t, 0)
		got := int64(0)
		for _, table := range testkit.Tables(t, out.Stdout) {
			for _, r := range table.Rows {
				if match(r) {
					got += r.Int(t, column)
				}
			}
		}
		if got != want {
			t.Errorf("%v: got %d, want %d", args, got, want)
		}
	}
	by := func(comm string) func(testkit.Row) bool {
		return func(r testkit.Row) bool {
			return r["comm"] == comm || r["COMM"] == comm || r["sender"] == comm
		}
	}
	calls := func(filter string) []string {
		return []string{
			"syscalls", "--perins", "-e", "raw_syscalls:sys_enter/" + filter + "/", "-e",
			"raw_syscalls:sys_exit",
		}
	}
	f(90, "calls", by("load-0"), calls("id == 110")...)
	f(10, "calls", by("load-0"), calls("id == 230")...)
	f(12, "err", by("load-0"), calls("id == 257")...)
	f(90, "SYS_ENTER", by("load-0"), "top", "-e", "raw_syscalls:sys_enter/id == 110/")
	f(1, "count", by("sh"), "signal")
}
