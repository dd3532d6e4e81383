package why

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// limitedGroup makes a cgroup with a quota of 2 ms in each 100 ms, and returns its
// directory; "" if this machine has no quotas.
func limitedGroup(t testing.TB) (dir string) {
	t.Helper()
	for _, top := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
		dir, err := os.MkdirTemp(top, "held")
		if err != nil {
			continue
		}
		t.Cleanup(func() { removeCgroup(dir) })
		for file, limit := range map[string]string{"cpu.cfs_quota_us": "2000", "cpu.max": "2000 100000"} {
			file = filepath.Join(dir, file)
			if _, err := os.Stat(file); err == nil && os.WriteFile(file, []byte(limit), 0) == nil {
				return dir
			}
		}
	}
	return ""
}

// heldProgram computes in a cgroup whose quota is used up most of the time, between two calls. It
// prints how long that took, how long the quota held it according to the kernel's statistics of the
// cgroup, and how much of that may have been outside of the calls.
const heldProgram = `
import os, sys, time
dir = sys.argv[1]
with open(dir + "/cgroup.procs", "w") as f: f.write(str(os.getpid()))
os.sched_setaffinity(0, {0})
def held():
    for line in open(dir + "/cpu.stat"):
        name, n = line.split()
        if name == "throttled_time": return int(n)
        if name == "throttled_usec": return int(n) * 1000
now = time.monotonic_ns
first = now()
before = held()
os.getpgid(0)
begin = now()
while now() < begin + 700000000: pass
end = now()
os.getsid(0)
print("held", held() - before, "of", end - begin, "beside", now() - end + begin - first)
`

// If the kernel's functions cannot be probed, its own account of quotas is read at switches: a
// thread that is held by its quota does not wait for the thread that has the CPU meanwhile. For
// some holds, the account does not have the end yet when it is read: these are unknown, and the
// reason names the probes that would show the end.
func TestQuotaOnBusyCPU(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.BTF, testkit.Taskset, testkit.Program("python3"))...)
	if types, err := os.ReadFile("/sys/kernel/btf/vmlinux"); err != nil ||
		!bytes.Contains(types, []byte("throttled_clock_self_time")) {
		t.Skip("needs the kernel's account of quotas (Linux 6.6)")
	}
	dir := limitedGroup(t)
	if dir == "" {
		t.Skip("needs the controller cpu of cgroups")
	}
	testkit.Start(t, "taskset", "-c", "0", "sh", "-c", "while :; do :; done")
	const script = `join([tracepoint("syscalls:sys_enter_getpgid")], ` +
		`[tracepoint("syscalls:sys_enter_getsid")], ` +
		`key = "_tid").why(than = 100 * ms, limit = 256 * MiB)`
	testkit.Again(t, func() (wrong []string) {
		out := testkit.Run(t, testkit.PPScript(t), "--format", "json", "-c", script, "--",
			"python3", "-c", heldProgram, dir).Want(t, 0)
		var held, all, beside int64
		for line := range strings.Lines(out.Stdout) {
			fmt.Sscanf(line, "held %d of %d beside %d", &held, &all, &beside)
		}
		causes := causesOf(t, out.Stdout)
		told, unknown := causes[result.WhyQuota], causes[result.WhyUnknown]
		t.Logf("held %d of %d ns, %d beside: told %d, unknown %d", held, all, beside, told, unknown)
		switch {
		case all == 0:
			return []string{"the program did not say how long it was held"}
		case told > held+all/20 || told+unknown < held-beside-all/20:
			return []string{fmt.Sprintf("got %d ns by the quota and %d unknown, want %d of %d", told, unknown,
				held, all)}
		case told < all/20:
			return []string{fmt.Sprintf("got %d ns by the quota, want a part of %d", told, held)}
		case unknown < all/20 && strings.Contains(out.Stdout, "throttle_cfs_rq"):
			return []string{"probes are said to be missing, whose work the account does"}
		}
		return nil
	})
}
