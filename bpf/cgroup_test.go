package bpf

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"ppscript/runtime/operator/agg"
	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// cgroup makes a cgroup with one inside, to be removed with the test.
func cgroup(t *testing.T) (outer, inner string) {
	t.Helper()
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	root := mounts.Cgroup2
	if root == "" {
		root = t.TempDir()
		testkit.Requires(t, testkit.Optional("cgroup2", unix.Mount("none", root, "cgroup2", 0, "")))
		t.Cleanup(func() { unix.Unmount(root, unix.MNT_DETACH) })
	}
	outer = filepath.Join(root, fmt.Sprintf("pp-bpf-test-%d", os.Getpid()))
	inner = filepath.Join(outer, "inner")
	testkit.Requires(t, testkit.Optional("cgroups that can be made",
		errors.Join(os.Mkdir(outer, 0o755), os.Mkdir(inner, 0o755))))
	t.Cleanup(func() {
		if err := errors.Join(os.Remove(inner), os.Remove(outer)); err != nil {
			t.Error(err)
		}
	})
	return outer, inner
}

// A cgroup is its tasks and those of the cgroups inside; nobody else.
func TestCgroupTarget(t *testing.T) {
	h, fs := live(t)
	outer, inner := cgroup(t)
	executed := schemaOf(t, fs, "sched", "sched_process_exec")
	hitsOf := func(dir string) (hits uint64) {
		part := partOf([]*Event{{Schema: executed, Label: "exec"}}, &Edge{Group: counted()})
		r := startOn(t, h, part, &Target{Cgroups: []string{dir}})
		// Two programs inside, and others outside.
		script := "true; /bin/true; echo $$ >" + inner + "/cgroup.procs && (/bin/true); exec /bin/true"
		if text, err := exec.Command("/bin/sh", "-c", script).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if err := errors.Join(r.Stop(), exec.Command("/bin/true").Run()); err != nil {
			t.Fatal(err)
		}
		if err := r.Rows(nil, func(_ *agg.Spec, p *agg.Partial) { hits += p.Hits }); err != nil {
			t.Fatal(err)
		}
		return hits
	}
	if got := hitsOf(outer); got != 2 {
		t.Errorf("got %d programs in the outer cgroup, want 2", got)
	}
	if got := hitsOf(inner); got != 2 {
		t.Errorf("got %d programs in the inner cgroup, want 2", got)
	}
	other := filepath.Join(outer, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	if got := hitsOf(other); got != 0 {
		t.Errorf("got %d programs in a cgroup beside, want 0", got)
	}
}
