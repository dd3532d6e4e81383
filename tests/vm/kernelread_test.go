package vm

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ppscript/tests/testkit"
)

// Programs find the members of the kernel's structures at their places in each kernel,
// and the texts of processes, also those that are not in memory when a call begins.
func TestKernelReads(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"/w/bpf.test":   goProgram(t, "amd64", "bpf.test", "test", "-c", module+"bpf"),
		"/w/probe.test": goProgram(t, "amd64", "probe.test", "test", "-c", module+"runtime/source/probe"),
	}
	for _, kernel := range []string{"5.10", "6.1", "6.12", "newest"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			r := Run(t, Guest{Kernel: kernel, Files: files, Timeout: 3 * time.Minute},
				"export PPSCRIPT_REQUIRE=root,tracefs,tracepoints,btf,kprobes,kcore,kallsyms\n"+
					"cd /; bpf.test -test.run 'KernelRead|UserText' -test.v && probe.test -test.run 'KernelArg|NamedArg' -test.v")
			if r.Status != 0 {
				t.Errorf("got status %d, want all tests to pass", r.Status)
			}
		})
	}
}

// countLost returns how many events of a run with --format json were lost, or were discarded
// because a loss may have
func countLost(t *testing.T, output string) (n int64) {
	t.Helper()
	type counts struct{ Lost, Broken int64 }
	for _, r := range testkit.All[struct{ Loss counts }](t, output, "table") {
		n += r.Loss.Lost + r.Loss.Broken
	}
	for _, r := range testkit.All[counts](t, output, "loss") {
		n += r.Lost + r.Broken
	}
	return n
}

// Programs that have just started open files whose names are not in memory yet: less than
// one in a hundred is missing. The guests have cgroups of version 1, where the hierarchy of
// perf_event has containers and that of systemd has services.
func TestTextsOfJustStartedPrograms(t *testing.T) {
	t.Parallel()
	const starts = 100
	id := strings.Repeat("5ca1ab1e", 8)
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript"),
		"/w/cgroup.test": goProgram(t, "amd64", "cgroup.test", "test", "-c", module+"runtime/target/cgroup")}
	// The names are constants of programs that are executed again each time.
	script := fmt.Sprintf(`exec 2>/w/err; cd /w
work='for i in $(seq %d); do busybox free; busybox uptime; done >/dev/null'
opened='join([tracepoint("syscalls:sys_enter_openat")], [tracepoint("syscalls:sys_exit_openat")], key = "tid")'
ppscript -c "$opened"'.let(file = "user_string(start.filename)").by("file").count()' --format json -o sent -- sh -c "$work"
ppscript -c 'tracepoint("syscalls:sys_enter_openat").by(file = "user_string(filename)").count()' --format json -o direct -- sh -c "$work"
ppscript syscall-trace -e open,openat --format json -o lines -- sh -c "$work"
mkdir pe sd; mount -t cgroup -o perf_event none pe; mount -t cgroup -o none,name=systemd none sd
mkdir -p pe/docker/%[2]s sd/system.slice/web.service
opens='cd /w; echo $$ >pe/docker/%[2]s/tasks; echo $$ >sd/system.slice/web.service/tasks
for i in $(seq 300); do : </dev/null; done; sleep 0.5'
whose='tracepoint("syscalls:sys_enter_openat").by("container", "unit", "cgroup").count()'
ppscript -c "$whose" --format json -o whose -- sh -c "$opens"
ppscript -c "$whose" --format json -o target --container %.6[2]s -- sh -c "$opens"
sh -c 'echo $$ >sd/system.slice/web.service/tasks; until [ -e attached ]; do sleep 0.2; done
for i in $(seq 300); do : </dev/null; done; sleep 0.5' &
(until grep -q " open event" unit.err; do sleep 0.2; done; : >attached) &
opens='tracepoint("syscalls:sys_enter_openat").where("comm == \"sh\"")'
opens="$opens"'.by("unit").count()'
ppscript -v -c "$opens" --format json -o unit --unit web 2>unit.err
cat unit.err >&2
cgroup.test -test.v -test.run 'OfAllLayouts|ByNumber|TargetsByName|TargetsOfVersion1' >layouts
echo BEGIN layouts; cat layouts
echo BEGIN whose; cat whose
echo BEGIN target; cat target
echo BEGIN unit; cat unit
echo BEGIN sent; cat sent
echo BEGIN direct; cat direct
echo BEGIN lines; cat lines
echo BEGIN err; cat err
exit 0`, starts, id)
	want := map[string]int64{"/proc/meminfo": starts, "/etc/localtime": starts, "/var/run/utmp": starts}
	for _, kernel := range []string{"5.10", "6.1", "6.12", "newest"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			got := parts(Run(t, Guest{Kernel: kernel, Files: files}, script).Output)
			for _, name := range []string{"CgroupsOfAllLayouts", "CgroupsByNumber", "TargetsByName",
				"TargetsOfVersion1"} {
				if !strings.Contains(got["layouts"], "--- PASS: Test"+name+" ") {
					t.Errorf("%s: got no pass: %s", name, got["layouts"])
				}
			}
			for _, part := range []string{"whose", "target"} {
				inContainer(t, testkit.Tables(t, got[part]), id, part == "target", got["err"])
			}
			ofUnit := map[string]int64{}
			for _, table := range testkit.Tables(t, got["unit"]) {
				for _, r := range table.Rows {
					ofUnit[r.Text(t, "unit")] += r.Int(t, "count")
				}
			}
			if n := ofUnit["web.service"]; n < 300 || n > 310 || len(ofUnit) != 1 {
				t.Errorf("--unit web: got %v, want 300 of web.service alone: %s", ofUnit, got["err"])
			}
			counted, all, missing := map[string]int64{}, int64(0), int64(0)
			for _, part := range []string{"sent", "direct"} {
				of := map[string]int64{}
				for _, table := range testkit.Tables(t, got[part]) {
					for _, r := range table.Rows {
						of[r.Text(t, "file")] = r.Int(t, "count")
						all += r.Int(t, "count")
					}
				}
				missing += of["<fault>"]
				if counted = of; of["<fault>"] == 0 && of["/proc/meminfo"] != starts {
					t.Errorf("%s: got %d calls of /proc/meminfo, want %d", part, of["/proc/meminfo"], starts)
				}
			}
			named := map[string]int64{}
			for _, e := range testkit.Events(t, got["lines"]) {
				all++
				_, name, ok := strings.Cut(fmt.Sprint(e.Fields["call"]), `filename: "`)
				if !ok {
					missing++
				}
				name, _, _ = strings.Cut(name, `"`)
				named[name]++
			}
			// A thread that is preempted in a call of bpf() prevents programs from running on its
			// CPU. The run reports this, and no more events are missing than it reports.
			left := countLost(t, got["sent"]) + countLost(t, got["direct"]) + countLost(t, got["lines"])
			if all+left < 9*starts || 100*missing >= all {
				t.Errorf("%d of %d names are missing, want less than 1 %%: %s", missing, all, got["err"])
			}
			for name, n := range want {
				least, most := min(counted[name], named[name]), max(counted[name], named[name])
				if missing == 0 && (most > n || least < n-left) {
					t.Errorf("%s: got %d and %d calls, want %d; %d were lost", name, counted[name],
						named[name], n, left)
				}
			}
		})
	}
}

// Programs that are attached to kernel functions can follow the functions'
// arguments into the kernel's memory: to the file that is read, and the name of its
// directory entry.
func TestKernelArgumentsLead(t *testing.T) {
	t.Parallel()
	files := map[string]string{"/w/ppscript": build(t, "amd64", "cmd/ppscript")}
	script := `exec 2>&1; cd /w; echo x >known
four='for n in 1 2 3 4; do dd if=/w/known of=/dev/null bs=16 2>/dev/null; done'
ppscript -c 'kprobe("vfs_read").where(lambda e: e.file.f_path.dentry.d_name.name == "known").by(name = lambda e: e.file.f_path.dentry.d_name.name, tid = lambda e: task().pid == e.tid, positive = "count > 0").count()' -- sh -c "$four"
ppscript -c 'kretprobe("vfs_read").where("result == 2").by(result = "result").count()' -- sh -c "$four"
ppscript -c 'kprobe("vfs_read").where("file->f_path.dentry->d_name.name == \"known\"").by(links = "file->f_inode->i_nlink").count()' -- sh -c "$four"
exit 0`
	for _, kernel := range []string{"5.10", "6.12"} {
		t.Run(kernel, func(t *testing.T) {
			t.Parallel()
			// 5.10 follows as many active calls as there may be CPUs: with one, returns are
			// missed while a shell waits in a read.
			r := Run(t, Guest{Kernel: kernel, Files: files, Append: " possible_cpus=16"}, script)
			// dd reads each file twice: its bytes, and its end.
			for _, want := range []string{"known true 1 8", "2 4", "1 8"} {
				if !strings.Contains(strings.Join(strings.Fields(string(r.Output)), " "), " "+want+" ") {
					t.Errorf("got status %d, want a row of %s", r.Status, want)
				}
			}
		})
	}
}

// inContainer checks that work in a container is shown apart from work outside, and that
// there is only work in the container if it is the target.
func inContainer(t *testing.T, tables []testkit.Table, id string, alone bool, err string) {
	t.Helper()
	inside, outside := int64(0), int64(0)
	for _, table := range tables {
		for _, r := range table.Rows {
			n := r.Int(t, "count")
			if r.Text(t, "container") != id {
				outside += n
				continue
			}
			inside += n
			path, unit := r.Text(t, "cgroup"), r.Text(t, "unit")
			if path != "/docker/"+id || unit != "web.service" {
				t.Errorf("got cgroup %s and unit %s", path, unit)
			}
		}
	}
	if inside < 300 || inside > 310 || alone != (outside == 0) {
		t.Errorf("got %d events inside and %d outside, want 300 inside: %s", inside, outside, err)
	}
}
