package vm

import (
	"testing"

	"ppscript/tests/testkit"
	"ppscript/tests/why"
)

// Causes that need a guest: a disk that is known to be slow, a quota, which only probes report, and
// a shell that takes the host's CPU from a virtual CPU.
func TestWhy(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/causes":   cProgram(t, "amd64", "../why/testdata/causes.c", "-pthread"),
	}
	files["/w/minikvm"] = build(t, "amd64", "tests/vm/minikvm")
	proof := why.Proof{Percent: 5, Guest: true}
	modules := []string{"configfs", "null_blk", "kvm_amd"}
	guest := Guest{CPUs: 1, MemoryMiB: 768, Files: files, Modules: modules}
	script := whyScript + "$why sh -c '" + why.BesideShell("minikvm", 100_000) + "'\n"
	testkit.Again(t, func() []string { return proof.Output(t, string(Run(t, guest, script).Output)) })
	for _, name := range []string{"disk", "mutex-disk", "quota", "vcpu 0"} {
		if !proof.Right[name] {
			t.Errorf("%s: its truth was never told", name)
		}
	}
}

const whyScript = `
mount -t configfs none /sys/kernel/config
d=/sys/kernel/config/nullb/slow
mkdir $d && echo 2 >$d/irqmode && echo 4000000 >$d/completion_nsec && echo 64 >$d/size && echo 1 >$d/power
mkdir /sys/fs/cgroup/why
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control; echo +cpu >/sys/fs/cgroup/why/cgroup.subtree_control
mark="/pid==0x77000000/key=_tid/"
why="ppscript why -e syscalls:sys_enter_getpgid$mark -e syscalls:sys_enter_getsid$mark --than 1us --format json --"
$why causes -w 300 -o truth -d /dev/slow -g /sys/fs/cgroup/why disk mutex-disk quota
cat truth
`
