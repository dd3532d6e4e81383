package vm

import (
	"testing"

	"ppscript/tests/testkit"
	"ppscript/tests/why"
)

// What a disk that is known to be slow, and a quota, which only probes tell of, took of a program's time.
func TestWhy(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/causes":   cProgram(t, "amd64", "../why/testdata/causes.c", "-pthread"),
	}
	proof := why.Proof{Percent: 5}
	guest := Guest{CPUs: 1, MemoryMiB: 768, Files: files, Modules: []string{"configfs", "null_blk"}}
	testkit.Again(t, func() []string { return proof.Output(t, string(Run(t, guest, whyScript).Output)) })
}

const whyScript = `
mount -t configfs none /sys/kernel/config
d=/sys/kernel/config/nullb/slow
mkdir $d && echo 2 >$d/irqmode && echo 4000000 >$d/completion_nsec && echo 64 >$d/size && echo 1 >$d/power
mkdir /sys/fs/cgroup/why
echo +cpu >/sys/fs/cgroup/cgroup.subtree_control; echo +cpu >/sys/fs/cgroup/why/cgroup.subtree_control
mark="/pid==0x77000000/key=_tid/"
ppscript why -e syscalls:sys_enter_getpgid$mark -e syscalls:sys_enter_getsid$mark --than 1us --format json -- \
	causes -w 300 -o truth -d /dev/slow -g /sys/fs/cgroup/why disk mutex-disk quota
cat truth
`
