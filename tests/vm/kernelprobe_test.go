package vm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Probes in the kernel have the same counts in programs as natively, on kernels of all
// ages: arguments, results, pairs, stacks, and the functions that a pattern matches.
// Programs use fentry and fexit where the kernel has them, except for values that only
// probes have, and for functions that these hooks use themselves. If one link attaches a
// program to all functions of a pattern, a thousand functions take less than
// mostPerThousand.
func TestKernelProbesInKernel(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/load":     build(t, "amd64", "tests/testkit/load"),
	}
	for _, kernel := range []string{"5.10", "6.1", "6.12"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			guest := Guest{Kernel: kernel, MemoryMiB: 1024, DiskMiB: 64, Files: files,
				Timeout: 5 * time.Minute}
			if kernel == "5.10" {
				// The kernel follows as many active calls as there may be CPUs: with one,
				// all returns are missed while another process is stopped inside an open.
				guest.Append = " possible_cpus=16"
			}
			asked := "" // only in the oldest and the newest kernel
			if kernel != "6.1" {
				asked = questionsScript
			}
			r := Run(t, guest, "kernel="+kernel+"\n"+asked+probesScript)
			all := parts(r.Output)
			part := func(name string) string { return all[name] }
			want := wants(t, all)
			engines := []string{"bpf", "perf"}
			if kernel == "6.1" { // this way of perf is tested on the older and the newer kernel
				engines = engines[:1]
			}
			for _, engine := range engines {
				// The shell opens its script too.
				want(engine+" args", `-100 do_sys_openat2 +21\n`)
				want(engine+" pairs", `do_sys_openat2 => do_sys_openat2 +21 `)
				want(engine+" stack", `do_sys_openat2`)
				want(engine+" pattern", `vfs_open +21\n`)
			}
			other := engines[len(engines)-1] + " "
			if ip := part("bpf ip"); ip != part(other+"ip") || strings.Count(ip, `"count":21`) != 2 {
				t.Errorf("ip: got\n%s\nwant\n%s", ip, part(other+"ip"))
			}
			if kernel != "5.10" { // 5.10 does not give programs the function that returns
				got := part("bpf sent")
				if got != part(other+"sent") || !strings.Contains(got, " 21 opens -100 ") ||
					!regexp.MustCompile(` 21 returns \d+ \d+ True True\n`).MatchString(got) {
					t.Errorf("sent: got\n%s\nwant\n%s", got, part(other+"sent"))
				}
			}
			if kernel == "6.12" { // one link attaches each program
				for _, of := range []string{"events", "pairs"} {
					got := part("bpf many " + of)
					if got != part("perf many "+of) || !strings.Contains(got, " 21 "+of+" vfs_open ") {
						t.Errorf("many %s: got\n%s\nwant\n%s", of, got, part("perf many "+of))
					}
				}
				want("many leave", `only what matches leaves it(.|\n)*more functions, by one link`)
			}
			for _, engine := range engines {
				want(engine+" left", ` 21 pair -100 do_sys_openat2 True True\n`)
			}
			want("bpf left", ` 20 pair of /w/known\n`)
			want("text", `/w/known +20\n`)
			want("how", `engine +bpf`)
			direct := kernel != "5.10" // programs cannot read the arguments there
			calls := `do_sys_openat2, which calls it as it begins \(fentry\)`
			if !direct {
				calls = `do_sys_openat2, by an event of perf`
			}
			want("direct", `bpf: kprobe:do_sys_openat2, kprobe:`+calls)
			want("direct", ` +1 +21\n`)
			want("refused", `bpf: kprobe:[^\n]*, by an event of perf(.|\n)* +21\n`)
			want("refused", `4294967196 +21\n`) // the whole register of an int
			if strings.Contains(part("refused"), "fentry") {
				t.Errorf("refused: got\n%s\nwant no trampoline", part("refused"))
			}
			want("underneath", `bpf: kretprobe:[^\n]*, by an event of perf`)
			silent := `follows at most \d+ of its calls at a time; returns of others are missed`
			want("native", silent)
			if kernel != "6.12" {
				want("missed", silent)
			}
			if direct { // each call has its return on its own stack
				want("all", ` 30\n$`)
			}
			if kernel == "6.12" { // older kernels do not count missed returns
				// The kernel's own probe has the same hits and misses: thirty calls
				// sleep at the same time.
				m := missedReturns.FindStringSubmatch(part("missed"))
				if m == nil || m[1] != m[3] || m[2] != m[4] || m[1] == "30" {
					t.Errorf("missed: got\n%s\nwant returns that are counted and lost as the kernel's",
						part("missed"))
				}
			}
			if kernel == "6.12" { // older kernels have no CONFIG_FPROBE
				want("how", `more functions, by one link`)
				want("user", `more functions, by one link`)
				want("leave", `engine +bpf: .* only what matches leaves it`)
				want("joined", `kprobe:[^\n]* more functions, by one link`)
				want("joined", `kretprobe:[^\n]* more functions, by one link`)
				want("session", `kretprobe:do_sys_openat2, by one link for the call and its return`)
				wantManyAtOnce(t, part("many"))
			}
			want("session", ` +1 +21\n`)
			want("joined", `vfs_open +21\n`)
			want("user", `main\.main +1\n`)
			want("left", `^END left`)
			if asked != "" {
				askedIn(t, kernel, part)
			}
			if t.Failed() {
				fmt.Println(string(r.Output))
			}
		})
	}
}

// mostPerThousand is in seconds. An emulated guest alone takes 0.2 to 0.5; with another
// guest and other work on the machine it took 1.05.
const mostPerThousand = 3

// wantManyAtOnce reads the times to count one function, and many, in turn: the
// difference for a thousand must be less than mostPerThousand.
func wantManyAtOnce(t *testing.T, text string) {
	t.Helper()
	runs := tookSeconds.FindAllStringSubmatch(text, -1)
	least := 1e9
	more, one := 0, 0.0
	for i, m := range runs {
		from, _ := strconv.ParseFloat(m[2], 64)
		to, _ := strconv.ParseFloat(m[3], 64)
		if i%2 == 0 {
			one = to - from
			continue
		}
		more, _ = strconv.Atoi(m[1])
		least = min(least, (to-from-one)*1000/float64(max(more, 1)))
	}
	if len(runs) != 4 || more < 1000 || least >= mostPerThousand {
		t.Errorf("many: got\n%s\nwant a thousand functions or more, in less than %d s for a thousand", text, mostPerThousand)
	}
	t.Logf("%d functions at once: %.2f s for a thousand", more+1, least)
}

// tookSeconds matches one of these runs: the number of additional functions, and the times of
// begin and end.
var tookSeconds = regexp.MustCompile(`(?:(\d+) more functions, by one link\n)?took ([\d.]+) ([\d.]+)\n`)

// missedReturns matches the counted and the lost returns, then the kernel's own counts.
var missedReturns = regexp.MustCompile(`(?s)(\d+)\nlost (\d+) events\n +slept +(\d+) +(\d+)\n`)

// probesScript opens a file twenty times.
const probesScript = `
cd /w; echo x >known
loop='i=0; while [ $i -lt 20 ]; do : </w/known; i=$((i+1)); done; exit 0'
mine='_comm == "mine"'
printf '#!/bin/sh\n%s\n' "$loop" >mine; chmod +x mine
printf '#!/bin/sh\ni=0; while [ $i -lt 30 ]; do sleep 1 & i=$((i+1)); done; wait\n' >sleepers; chmod +x sleepers
openat='args = "int dfd, char *name", filter = "_comm == \"mine\""'
cat >sent.star <<END
opens = kprobe("do_sys_openat2", args = "int dfd, long name, long how")
returns = kretprobe("do_sys_openat2").where("_comm == \"mine\"")
def main(o):
    return [
        opens.where("_comm == \"mine\" && dfd == -100").each(lambda e: print("opens", e.dfd, e.ip, e.func)),
        returns.each(lambda e: print("returns", e.ip, e.ret_ip, e.retval > 0, e._cpu >= 0)),
    ]
END
cat >left.star <<END
def main(o):
    calls = join([kprobe("do_sys_openat2", args = "int dfd, char *name")], [kretprobe("do_sys_openat2")],
        key = "tid").where("start._comm == \"mine\"")
    return [
        calls.each(lambda p: print("pair", p.start.dfd, p.start.func, p.end.retval > 0, p.start.arg1 != 0)),
        calls.each(lambda p: print("pair of", p.start.name)),
    ]
END
cat >many.star <<END
opts = options(of = opt.string("", help = "events or pairs"))
mine = "_comm == \\"mine\\""
calls = kprobe("vfs_[os]*")
pairs = join([calls], [kretprobe("vfs_[os]*")], key = "tid").where("start." + mine)
def main(o):
    if o.of == "events":
        return calls.where(mine).each(lambda e: print("events", e.func, e.ip, e.arg1 != 0))
    return pairs.each(lambda p: print("pairs", p.start.func, p.end.func, p.start.ip, p.end.ip, p.end.ret_ip))
END
[ $kernel = 6.1 ] && engines=bpf || engines='bpf perf'
for engine in $engines; do
	[ $kernel = 6.12 ] && for of in events pairs; do
		echo BEGIN $engine many $of
		ppscript --engine $engine many.star --of $of -- ./mine 2>&1 | grep ^$of | sort | uniq -c
	done
	echo BEGIN $engine args
	ppscript --engine $engine -c 'kprobe("do_sys_openat2", args = "int dfd, char *name, long how").where("dfd == -100 && _comm == \"mine\"").by("dfd", "func").count()' -- ./mine
	echo BEGIN $engine pairs
	ppscript --engine $engine -c 'join([kprobe("do_sys_openat2")], [kretprobe("do_sys_openat2")], key = "tid").where("start._comm == \"mine\"").latency()' -- ./mine
	echo BEGIN $engine stack
	ppscript --engine $engine -c 'kprobe("do_sys_openat2").where("_comm == \"mine\"").by("stack").count()' -- ./mine
	echo BEGIN $engine ip
	ppscript --engine $engine --raw --format json -c 'kprobe("do_sys_openat2").where("_comm == \"mine\"").by("ip").count()' -- ./mine | grep -o '"ip":.*'
	ppscript --engine $engine --raw --format json -c 'kprobe("vfs_ope[a-n]").where("_comm == \"mine\"").by("ip", "func").count()' -- ./mine | grep -o '"ip":.*'
	echo BEGIN $engine sent
	ppscript --engine $engine sent.star -- ./mine 2>&1 | grep -v '^ppscript: ' | sort | uniq -c
	echo BEGIN $engine left
	ppscript --engine $engine left.star -- ./mine 2>&1 | grep ^pair | sort | uniq -c
	echo BEGIN $engine pattern
	ppscript --engine $engine -c 'kprobe("vfs_ope[a-n]").where("_comm == \"mine\"").by("func").count()' -- ./mine
done
echo BEGIN leave
ppscript explain --engine bpf left.star
[ $kernel = 6.12 ] && { echo BEGIN many leave; ppscript explain --engine bpf many.star --of pairs; }
echo BEGIN text
ppscript --engine bpf -c 'kprobe("do_sys_openat2", args = "int dfd, char *name").where("name == \"/w/known\"").by("name").count()' -- ./mine
echo BEGIN direct
ppscript -v --engine bpf -c 'join([kprobe("do_sys_openat2")], [kretprobe("do_sys_openat2")], key = "tid").where("start._comm == \"mine\"").by("end.retval > 0").count()' -- ./mine 2>&1
echo BEGIN session
ppscript -v --engine bpf -c 'join([kprobe("do_sys_openat2")], [kretprobe("do_sys_openat2")], key = "tid").where("start._comm == \"mine\" && start.arg6 == start.arg6").by("end.retval > 0").count()' -- ./mine 2>&1
echo BEGIN refused
ppscript -v --engine bpf -c 'kprobe("do_sys_openat2").where("_comm == \"mine\"").by("arg6 == arg6").count()' -- ./mine 2>&1
ppscript -v --engine bpf -c 'kprobe("do_sys_openat2").where("_comm == \"mine\"").by("arg1").count()' -- ./mine 2>&1
echo BEGIN underneath
ppscript -v --engine bpf -c 'kretprobe("__srcu_read_unlock").count()' -- ./mine 2>&1
grep -qw __rcu_read_unlock /proc/kallsyms && ppscript -v --engine bpf -c 'kretprobe("__rcu_read_unlock").count()' -- ./mine 2>&1
echo BEGIN how
ppscript explain --engine bpf -c 'kprobe("vfs_[a-z]*").by("func").count()'
echo BEGIN joined
ppscript -v --engine bpf -c 'join([kprobe("vfs_[ou]*")], [kretprobe("vfs_[ou]*")], key = "tid").where("start._comm == \"mine\"").by("start.func").count()' -- ./mine 2>&1
echo BEGIN many
attach() { # PATTERN
	from=$(cut -d' ' -f1 /proc/uptime)
	ppscript -v --engine bpf -c "kprobe(\"$1\", limit = 5000).by(\"func\").count().top(3)" -- true 2>&1 |
		grep -o '[0-9]* more functions, by one link'
	echo took $from $(cut -d' ' -f1 /proc/uptime)
}
[ $kernel = 6.12 ] && for i in 1 2; do attach vfs_open; attach '*_[rsg]e[at]*'; done
echo BEGIN missed
echo 'r10:mine/slept __x64_sys_clock_nanosleep' >/sys/kernel/tracing/kprobe_events
echo 1 >/sys/kernel/tracing/events/mine/enable
ppscript --engine bpf -c 'kretprobe("__x64_sys_clock_nanosleep").where("ret2 == ret2").count()' -- ./sleepers 2>&1
echo 0 >/sys/kernel/tracing/events/mine/enable
cat /sys/kernel/tracing/kprobe_profile
echo >/sys/kernel/tracing/kprobe_events
echo BEGIN all
ppscript --engine bpf -c 'kretprobe("__x64_sys_clock_nanosleep").count()' -- ./sleepers 2>&1
echo BEGIN native
ppscript --engine perf -c 'kretprobe("__x64_sys_clock_nanosleep").count()' -- true 2>&1
echo BEGIN user
ppscript explain --engine bpf -c 'uprobe("/w/ppscript", "main.[mr]*").by("func").count()' | grep "by one link"
ppscript --engine bpf -c 'uprobe("/w/ppscript", "main.[mr]*").by("func").count()' -- /w/ppscript version 2>&1
echo BEGIN left
cat /sys/kernel/tracing/kprobe_events
echo END left
exit 0`
