package why

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ppscript/runtime/result"
	"ppscript/tests/testkit"
)

// This file checks the names that stories have: of the cgroups of who is in the way, of files and of
// sockets.

// links are those of all parts that ppscript why printed with --format json.
func links(t testing.TB, output string) (all []result.WhyLink) {
	t.Helper()
	for _, s := range readShown(t, output) {
		for _, p := range s.Parts {
			all = append(all, p.Path...)
		}
	}
	return all
}

// ownCgroup makes a cgroup, and returns its directory and its path in the hierarchy.
func ownCgroup(t testing.TB) (dir, path string) {
	t.Helper()
	options := programOptions(t)
	if len(options) < 4 {
		t.Skip("no cgroup can be made here")
	}
	dir = filepath.Join(options[3], "hog")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path = strings.TrimPrefix(dir, "/sys/fs/cgroup")
	return dir, strings.TrimPrefix(path, "/cpu")
}

// Who has the CPU meanwhile is told with its cgroup, where that is another one.
func TestCgroupInTheWay(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.Program("taskset"))...)
	dir, path := ownCgroup(t)
	cpu := strconv.Itoa(runtime.NumCPU() - 1)
	hog := testkit.Start(t, "taskset", "-c", cpu, "sh", "-c",
		"echo $$ > "+filepath.Join(dir, "cgroup.procs")+"; while :; do :; done")
	defer hog.Signal(syscall.SIGKILL)
	testkit.Again(t, func() (wrong []string) {
		const computes = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true"
		out := testkit.Run(t, testkit.PPScript(t), "why", "--syscall", "wait4", "--than", "1ms",
			"--format", "json", "--", "sh", "-c", "taskset -c "+cpu+" "+computes).Want(t, 0)
		for _, l := range links(t, out.Stdout) {
			if l.Kind != result.WhyBehind || int(l.Whom.TID) != hog.PID() {
				continue
			}
			if !l.Foreign || l.Cgroup != "cgroup "+path {
				t.Errorf("got %+v, want a process of cgroup %s", l, path)
			}
			return nil
		}
		return []string{"nobody waited for the process of the other cgroup"}
	})
}
