package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// Recordings of perf and of ppscript have the cgroups of events, for a cgroup that existed
// and for one that was created later; perf reads ppscript's recording and has the same
// counts.
func TestCgroupsOfRecordings(t *testing.T) {
	live(t, testkit.Perf)
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	root := mounts.PerfCgroup()
	slice := fmt.Sprintf("/pp-recorded-%d.slice", os.Getpid())
	old, fresh := slice+"/old.service", slice+"/new.service"
	testkit.Requires(t, testkit.Optional("cgroups that can be made", os.MkdirAll(root+old, 0o755)))
	defer func() {
		for _, path := range []string{old, fresh, slice} {
			os.Remove(root + path)
		}
	}()
	dir := t.TempDir()
	work := fmt.Sprintf(`cd %[1]s; echo $$ >.%[2]s/cgroup.procs; %[4]s -getppid 1000; mkdir .%[3]s
		echo $$ >.%[3]s/cgroup.procs; %[4]s -getppid 3000; echo $$ >cgroup.procs; rmdir .%[3]s`,
		root, old, fresh, testkit.Load(t))
	line := regexp.MustCompile(`(?m)^ *[0-9.]+% +([0-9]+) +(/pp-recorded\S+)`)
	for _, recorder := range []string{testkit.PPScript(t), "perf"} {
		file := filepath.Join(dir, filepath.Base(recorder))
		testkit.Run(t, recorder, "record", "--all-cgroups", "-e", "syscalls:sys_enter_getppid", "-o", file, "--",
			"sh", "-c", work).Want(t, 0)
		var want, got []string
		report := testkit.Run(t, "perf", "report", "-i", file, "--stdio", "-n", "--sort", "cgroup").Want(t, 0)
		for _, m := range line.FindAllStringSubmatch(report.Stdout, -1) {
			want = append(want, m[2]+" "+m[1])
		}
		out := testkit.Run(t, testkit.PPScript(t), "--input", file, "--format", "json", "-c",
			`tracepoint("syscalls:sys_enter_getppid").by("cgroup", "unit").count()`).Want(t, 0)
		for _, r := range testkit.Tables(t, out.Stdout)[0].Rows {
			path := r.Text(t, "cgroup")
			if unit := r.Text(t, "unit"); path != "/" && unit != filepath.Base(path) {
				t.Errorf("got unit %s of %s", unit, path)
			}
			if path != "/" {
				got = append(got, fmt.Sprintf("%s %d", path, r.Int(t, "count")))
			}
		}
		slices.Sort(got)
		if slices.Sort(want); len(got) != 2 || !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", recorder, got, want)
		}
	}
}
