package vm

import (
	"testing"
)

// The command with probes in the kernel, which development machines may lack:
// exact counts, arguments, values that are written to a kernel variable, and
// nothing left behind. The names are arguments of a process that waits, because
// those of a process that has ended cannot be read.
func TestKernelProbes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	script := `
cd /w; echo x >known
four="/w/known /w/known /w/known /w/known"
loop='i=0; while [ $i -lt 20 ]; do : </w/known; i=$((i+1)); done'
echo BEGIN openat
ppscript -c 'kprobe("do_sys_openat2", args = "int dfd, char *name", filter = "dfd == -100").where("name == \"/w/known\"").by("name").count()' -- sh -c "sleep 3 | cat $four $four $four $four $four -"
echo BEGIN returns
ppscript -c 'join([kprobe("do_sys_openat2")], [kretprobe("do_sys_openat2", ret = "int")], key = "tid").latency()' -- sh -c "$loop"
echo BEGIN knob
while [ ! -e /tmp/seen ]; do for v in 77 78 79; do echo $v >/proc/sys/kernel/perf_cpu_time_max_percent; done; sleep 0.3; done &
ppscript breakpoint sysctl_perf_cpu_time_max_percent/4:w -N 3 -g --filter 'data > 76' --duration 40
touch /tmp/seen
echo BEGIN refusals
ppscript kprobe_typo 2>&1
ppscript -c 'kprobe("do_sys_openat22").log()' 2>&1
ppscript -c 'kprobe("*").log()' 2>&1
echo BEGIN left
cat /sys/kernel/tracing/kprobe_events /sys/kernel/tracing/uprobe_events
echo END left
exit 0`
	r := Run(t, Guest{CPUs: 1, MemoryMiB: 768, Files: files}, script)
	want := wants(t, parts(r.Output))
	want("openat", `/w/known +20\n`)
	want("returns", `do_sys_openat2 => do_sys_openat2 +20 `)
	for _, v := range []string{"77", "78", "79"} {
		want("knob", `breakpoint: 0x[0-9a-f]{16}/4:W ip [0-9a-f]{16} \S+.* data=`+v+`\n`)
	}
	want("knob", `RIP: [0-9a-f]{16} RSP: `)
	want("refusals", `did you mean do_sys_openat2\?`)
	want("refusals", `\d+ functions match, want at most 100`)
	want("left", `^END left`)
}
