package oracle

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// misc reports a new cgroup, and the programs that bpftrace loads and unloads;
// everything that comes disappears again. Other processes may do the same
// meanwhile.
func TestMiscTellsOfTheKernel(t *testing.T) {
	live(t, testkit.Bpftrace)
	ours := testkit.Start(t, testkit.PPScript(t), "misc", "-v", "--format", "json")
	ours.WaitStderr(" open event")
	dir := t.TempDir()
	cgroup := fmt.Sprintf("pp-misc-test-%d", os.Getpid())
	made := testkit.Run(t, "unshare", "-m", "sh", "-c",
		"mount -t cgroup2 none "+dir+" && mkdir "+dir+"/"+cgroup+" && rmdir "+dir+"/"+cgroup)
	bpftrace := testkit.Start(t, "bpftrace", "-e", "BEGIN { exit(); }")
	loaded := bpftrace.Wait()
	if made.Exit != 0 || loaded.Exit != 0 {
		testkit.Requires(t, testkit.Optional("cgroup2 and BPF",
			fmt.Errorf("%s %s", made.Stderr, loaded.Stderr)))
	}
	// The unloader of a program is not always its loader, it may take a while,
	// and lines of two CPUs come in any order. Programs are known by id, symbols
	// by address.
	told := func(stdout string) (came, went map[string]int, cgroups int) {
		came, went = map[string]int{}, map[string]int{}
		for _, e := range testkit.Events(t, stdout) {
			mine := e.PID == bpftrace.PID()
			program, symbol := "program "+between(e.Text, " id=", " "), "symbol "+
				between(e.Text, " address=", " ")
			switch kind := between(e.Text, "kind=", " "); {
			case kind == "bpf-load" && mine:
				came[program]++
			case kind == "symbol" && mine:
				came[symbol]++
			case kind == "bpf-unload":
				went[program]++
			case kind == "symbol-gone":
				went[symbol]++
			case strings.HasPrefix(e.Text, "kind=cgroup name=/"+cgroup+" id="):
				cgroups++
			}
		}
		return came, went, cgroups
	}
	whole := func(stdout string) bool {
		came, went, cgroups := told(stdout)
		for what, n := range came {
			if went[what] < n {
				return false
			}
		}
		return cgroups == 1 && len(came) >= 2
	}
	ours.Await("what comes and goes", whole)
	if out := ours.Stop().Want(t, 0); !whole(out.Stdout) {
		came, went, cgroups := told(out.Stdout)
		t.Errorf("got %d records of the cgroup, want 1; %v came, %v went", cgroups, came, went)
	}
}
