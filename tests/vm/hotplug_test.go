package vm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// hotplugWays are ways to count the calls of a target, each with the expected
// output, and whether events are lost while a CPU comes back: programs at
// tracepoints stay attached.
var hotplugWays = []struct {
	name, args string
	loses      bool
}{
	{"rings", "top --engine perf -e 'raw_syscalls:sys_enter/id==110/key=id/' -i 60s", true},
	{"order", "syscalls --engine perf -e 'raw_syscalls:sys_enter/id==110/' -e 'raw_syscalls:sys_exit/id==110/' -i 60s", true},
	{"counters", "stat -e 'raw_syscalls:sys_enter/id==110/' -i 60s", true},
	{"programs", "top --engine bpf -e 'raw_syscalls:sys_enter/id==110/key=id/' -i 60s", false},
	{"projected", `--engine bpf -c 'tracepoint("raw_syscalls:sys_exit").where("id == 110").by("id").agg(calls = agg.count(), ret = agg.last("ret"), rets = agg.distinct("ret"), at = agg.last("_time"))'`, false},
	// Rings with stacks have spools.
	{"stacks", `--engine perf -c 'tracepoint("raw_syscalls:sys_enter").where("id == 110").stack(user = False).stacks()'`, true},
	{"record", "record -e 'raw_syscalls:sys_enter/id==110/,sched:sched_process_exit' -o /tmp/x.data", true},
	{"sampled", `--engine bpf -c 'software("cpu-clock", period = 1000000).where("cpu == 1").count()'`, true},
}

// racesScript starts runs while a CPU goes offline and online as fast as possible. They open
// several events, so that the CPU goes offline between two of them, and end by themselves.
const racesScript = `touch /tmp/flap
while [ -e /tmp/flap ]; do echo 0 >$cpu; echo 1 >$cpu; done &
race() { ppscript "$@" --duration 10ms >out 2>err; echo "RACE $? $*"; cat err; }
race trace --engine perf -e 'sched:*'
race stat -e 'sched:*'
race --engine bpf -c 'software("cpu-clock", period = 1000000).by("cpu").count()'
race top --engine bpf -e 'raw_syscalls:sys_enter//key=id/' -e 'sched:sched_switch//key=next_pid/'
rm /tmp/flap; wait
`

// checkRaces checks that all of them end as if the CPU had gone offline a
// moment later.
func checkRaces(t *testing.T, output string) {
	t.Helper()
	_, output, _ = strings.Cut(output, "RACE ")
	races := strings.Split(output, "RACE ")
	for _, race := range races {
		if !strings.HasPrefix(race, "0 ") {
			t.Errorf("while a CPU comes and goes: got status %s", race)
		}
	}
	if len(races) != 4 {
		t.Errorf("got %d runs while a CPU comes and goes, want 4", len(races))
	}
}

// A CPU that goes offline and comes back, or that comes later, is observed again: its
// events are counted, and its missing first events are a loss. A CPU that goes offline
// while events are opened is left out without an error.
func TestCPUsComeAndGo(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/load":     build(t, "amd64", "tests/testkit/load"),
	}
	const calls = 500
	script := `cd /w
cpu=/sys/devices/system/cpu/cpu1/online
work() { load -cpu $1 -getppid ` + strconv.Itoa(calls) + `; }
begin() { # NAME COMMAND...
	echo BEGIN $1; shift; rm -f out err; touch out err
	"$@" >out 2>err &
	pid=$!
	n=0; until grep -q 'attached\|sends projected' err || [ $n = 300 ]; do sleep 0.1; n=$((n+1)); done
	sleep 0.3
}
followed() { # LOSES: waits until the CPU is observed again
	# What programs send of a CPU that comes later is taken from the next look on.
	[ $1 = false ] && { sleep 1; return; }
	n=0; until grep -q 'came online' err || [ $n = 100 ]; do sleep 0.1; n=$((n+1)); done
}
end() {
	kill -INT $pid; wait $pid; status=$?
	cat err out
	if [ -e /tmp/x.data ]; then ppscript --input /tmp/x.data top -i 60s -e 'raw_syscalls:sys_enter//key=id/'; rm /tmp/x.data; fi
	echo EXIT $status
}
`
	for _, w := range hotplugWays {
		script += fmt.Sprintf(`begin %[1]s-back ppscript %[2]s -v --strict
work 0; work 1; echo 0 >$cpu; sleep 0.5; echo 1 >$cpu; followed %[3]v; work 0; work 1; end
echo 0 >$cpu
begin %[1]s-later ppscript %[2]s -v --strict
work 0; sleep 0.5; echo 1 >$cpu; followed %[3]v; work 0; work 1; work 1; end
`, w.name, w.args, w.loses)
	}
	script += racesScript
	r := Run(t, Guest{CPUs: 2, MemoryMiB: 768, Files: files, Timeout: 6 * time.Minute}, script+"exit 0\n")
	checkRaces(t, string(r.Output))
	parts := regexp.MustCompile(`(?s)BEGIN (\S+)\n(.*?)EXIT (\d+)\n`).
		FindAllStringSubmatch(string(r.Output), -1)
	if len(parts) != 2*len(hotplugWays) {
		t.Fatalf("got %d runs, want %d", len(parts), 2*len(hotplugWays))
	}
	for i, p := range parts {
		w := hotplugWays[i/2]
		want := 0
		if w.loses {
			want = 4
		}
		if p[3] != strconv.Itoa(want) {
			t.Errorf("%s: got status %s, want %d", p[1], p[3], want)
		}
		if w.name == "sampled" {
			continue
		}
		if !regexp.MustCompile(`\b` + strconv.Itoa(4*calls) + `\b`).MatchString(p[2]) {
			t.Errorf("%s: got\n%s\nwant %d calls", p[1], p[2], 4*calls)
		}
		if strings.Contains(p[2], "use larger rings: ") && w.name != "record" {
			t.Errorf("%s: got\n%s\nwant no hint at larger rings", p[1], p[2])
		}
		if lost := strings.Contains(p[2], "lost"); lost != w.loses {
			t.Errorf("%s: got\n%s\nwant that events were lost: %v", p[1], p[2], w.loses)
		}
	}
}
