package oracle

import (
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A cgroup that is made, and the programs that bpftrace loads and unloads, are
// told; what comes goes again.
func TestMiscTellsOfTheKernel(t *testing.T) {
	live(t, testkit.Bpftrace)
	ours := testkit.Start(t, testkit.PPScript(t), "misc", "-v", "--format", "json")
	ours.WaitStderr(" open event")
	dir := t.TempDir()
	made := testkit.Run(t, "unshare", "-m", "sh", "-c", "mount -t cgroup2 none "+dir+" && mkdir "+dir+"/pp-misc-test && rmdir "+dir+"/pp-misc-test")
	loaded := testkit.Run(t, "bpftrace", "-e", "BEGIN { exit(); }")
	out := ours.Stop().Want(t, 0)
	count := map[string]int{}
	cgroups := 0
	for _, e := range testkit.Events(t, out.Stdout) {
		if e.Comm == "bpftrace" {
			count[between(e.Text, "kind=", " ")]++
		}
		if strings.HasPrefix(e.Text, "kind=cgroup name=/pp-misc-test id=") {
			cgroups++
		}
	}
	if made.Exit == 0 && cgroups != 1 {
		t.Errorf("got %d records of the cgroup, want 1:\n%.2000s", cgroups, out.Stdout)
	}
	if loaded.Exit == 0 && (count["bpf-load"] < 1 || count["bpf-load"] != count["bpf-unload"] || count["symbol"] != count["symbol-gone"]) {
		t.Errorf("got %v, want programs that are loaded and unloaded", count)
	}
	if made.Exit != 0 && loaded.Exit != 0 {
		t.Skipf("needs cgroup2 or BPF: %s %s", made.Stderr, loaded.Stderr)
	}
}
