package vm

import (
	"regexp"
	"strconv"
	"testing"
)

// questions are scripts of the library with their expected output in guests: scripts that use
// other events on old kernels than on new ones, or that need kernel functions or modules. They
// report a known number of operations of a program.
var questions = []struct{ name, want string }{
	{"bindsnoop", `( +\d+ load-0 +0 UDP +\.\.\.\.\. +0 +0 127\.0\.0\.1\n){5}`},
	{"udpconnect", `( +\d+ load-0 +4 127\.0\.0\.1 +53\n){5}`},
	{"modsnoop", `load-0 +delete_module no_such_module +ENOENT +5 `},
	{"capable", `load-0 +SETUID +5 +0\n`},
	{"exitsnoop", `sh +(\d+) +\d+ +\d+ +[\d.]+ code 3\n`},
	{"tcptop", `nc +\d+ +\d+ +1 +\d+ +6 +0\n`},
	{"tcptop", `nc +\d+ +\d+ +0 +\d+ +0 +(6|12)\n`}, // its second part may be reported twice before 6.3
	{"tcpresets", `resets received\n(.|\n)* 9 remote +1\n`},
	// The file system of a guest's root does not cache missing names.
	{"dcsnoop", `\d+ cat +M none1\n(.|\n)*\d+ cat +M none1\n`},
	{"filelife", `[\d:]+ +\d+ rm +[\d.]+ short1\n(.|\n)* short2\n(.|\n)* short3\n`},
	{"vfscount", `vfs_read +13\n`},
	{"vfsstat", `calls of vfs functions\n.*\n.*\n +1\.[3-9]`},
	{"argdist", `count\n-.*\n +777 +13\n`},
	{"argdist", `\$retval +count\n-.*\n +777 +13\n`},
	{"stackcount", `13 samples [^\n]*\n[^\n]* vfs_read\+`},
	// The second time all pages are there.
	{"cachetop", ` 0 dd +32 +0 +0 +100\.00 (.|\n)* 0 dd +(1\d|2\d|3[01]) +[1-9]\d* +0 `},
	{"cpudist", `time on a CPU\ndelay, \d+ events`},
	{"cputhrottle", `slow +\d+ `},
	{"swaps", `cat +\d+ +\d+\n`},
}

// askedIn compares the output in a guest with the expected one.
func askedIn(t *testing.T, kernel string, part func(name string) string) {
	t.Helper()
	for _, q := range questions {
		if text := part(q.name); !regexp.MustCompile(q.want).MatchString(text) {
			t.Errorf("%s: got\n%s\nwant %s", q.name, text, q.want)
		}
	}
	// The kernel's own probe counts how often a group goes on, which may happen once more after the
	// run has ended. nr_throttled counts periods, several at once if the kernel's timer is late.
	stops := sumOf(part("cputhrottle"), `slow +(\d+) `)
	said := sumOf(part("cputhrottle"), `goes +(\d+)`)
	if stops < 5 || stops < said-1 || stops > said {
		t.Errorf("cputhrottle: got %d stops, want %d, of\n%s", stops, said, part("cputhrottle"))
	}
	// The kernel also counts the pages that it swaps; newer kernels move them in
	// groups.
	text := part("swaps")
	out, in := sumOf(text, `\w +(\d+) +\d+\n`), sumOf(text, `\w +\d+ +(\d+)\n`)
	pswpout, pswpin := sumOf(text, `pswpout (\d+)`), sumOf(text, `pswpin (\d+)`)
	if out < 1000 || in < 1000 || kernel == "5.10" && (out != pswpout || in != pswpin) {
		t.Errorf("swaps: got %d pages out and %d in, want %d and %d, of\n%s", out, in, pswpout, pswpin, text)
	}
}

// sumOf adds up the numbers that a pattern finds.
func sumOf(text, pattern string) (sum int) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		sum += n
	}
	return sum
}

// questionsScript runs the questions in a guest.
const questionsScript = `
ask() { echo "BEGIN $1"; ppscript "$@" 2>&1; }
for q in bindsnoop udpconnect modsnoop; do ask $q -- load -rare 5; done
ask capable --table -- load -rare 5
ask exitsnoop -- sh -c 'exit 3'
ask tcptop --system -- sh -c 'nc -l -p 5000 >/dev/null & sleep 0.5; echo hello | nc 127.0.0.1 5000; wait'
ask tcpresets --system -- sh -c 'nc 127.0.0.1 9; true'
ask dcsnoop -- sh -c 'cat /w/none1; cat /w/none1'
ask filelife -- sh -c 'cd /w; for i in 1 2 3; do echo >short$i; rm short$i; done'
ask vfscount -- dd if=/dev/zero of=/dev/null bs=777 count=13
ask vfsstat -i 10s -- dd if=/dev/zero of=/dev/null bs=777 count=13
ask argdist -C 'p::vfs_read(struct file *file, char *buf, size_t count):size_t:count:count == 777' \
	-C 'r::vfs_read(struct file *file, char *buf, size_t count):long:$retval:$entry(count) == 777' \
	-- dd if=/dev/zero of=/dev/null bs=777 count=13
ask stackcount -K vfs_read -- dd if=/dev/zero of=/dev/null bs=777 count=13
exec 3</dev/vda # as long as somebody has it open, its pages stay
ask cachetop -i 60s -- sh -c 'for n in 1 2; do dd if=/dev/vda of=/dev/null bs=4k skip=1000 count=32; done'
exec 3<&-
ask cpudist -- sh -c 'sleep 0.1; sleep 0.1'
mkdir /cg /big; mount -t cgroup2 none /cg; mount -t tmpfs none /big
echo +cpu +memory >/cg/cgroup.subtree_control; mkdir /cg/slow /cg/small
echo 5000 20000 >/cg/slow/cpu.max; echo 8M >/cg/small/memory.max
echo 'p:mine/goes unthrottle_cfs_rq' >/sys/kernel/tracing/kprobe_events
echo 1 >/sys/kernel/tracing/events/mine/enable
ask cputhrottle --system -- sh -c 'echo $$ >/cg/slow/cgroup.procs; n=0; until [ $n -ge 8 ]; do
	while read name hits missed; do [ $name = goes ] && n=$hits; done </sys/kernel/tracing/kprobe_profile
done'
echo 0 >/sys/kernel/tracing/events/mine/enable
cat /sys/kernel/tracing/kprobe_profile
echo >/sys/kernel/tracing/kprobe_events
mkswap /dev/vda >/dev/null && swapon /dev/vda
ask swaps --system -- sh -c 'echo $$ >/cg/small/cgroup.procs; dd if=/dev/urandom of=/big/x bs=1M count=16; cat /big/x >/dev/null'
grep -E "^pswp(in|out)" /proc/vmstat
`
