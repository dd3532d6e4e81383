package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ppscript/tests/testkit"
)

// A run with stacks of the whole machine in a cgroup that is too small for it leaves names out, and ends by
// itself with results.
func TestStacksInASmallCgroup(t *testing.T) {
	testkit.Requires(t, testkit.Live...)
	for _, v := range [][3]string{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.oom_control"},
		{"/sys/fs/cgroup", "memory.max", "memory.events"},
	} {
		dir, err := os.MkdirTemp(v[0], "ppscript-near-*")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, v[1]), []byte("62914560"), 0) != nil {
			continue
		}
		folded := filepath.Join(t.TempDir(), "x.folded")
		o := testkit.Run(t, "sh", "-c", `echo $$ >"$0"/cgroup.procs && exec "$@"`, dir,
			testkit.PPScript(t), "profile", "-g", "-a", "--duration", "2", "--flame-graph", folded).Want(t, 0)
		if text, err := os.ReadFile(folded); err != nil || len(text) == 0 {
			t.Errorf("no stacks: %v; it said %q", err, o.Stderr)
		}
		if !strings.Contains(o.Stderr, "needs 128MiB") {
			t.Errorf("got %q, want what is needed", o.Stderr)
		}
		text, err := os.ReadFile(filepath.Join(dir, v[2]))
		if err != nil || !regexp.MustCompile(`(?m)^oom_kill 0$`).Match(text) {
			t.Errorf("killed: %s, %v", text, err)
		}
		return
	}
	t.Skip("no cgroup of memory can be made here")
}
