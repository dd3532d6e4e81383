package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/kernel"
	"ppscript/tests/testkit"
)

// whoseEvents groups events of two processes by whose they are, in all ways in which keys are
// made: by name, of pairs, within other expressions, as a column, in a condition.
const whoseEvents = `
call = tracepoint("syscalls:sys_enter_getppid")
end = tracepoint("syscalls:sys_exit_getppid")

def main(o):
    calls = join([call], [end], key = "tid")
    return [
        call.by("cgroup", "container", "pod", "unit").count(),
        call.by("unit").agg(n = agg.count(), ids = agg.distinct("cgroup_id")),
        call.by(lambda e: (e.unit.split(".")[0], e.comm_nodigit)).count(),
        call.by("comm_nodigit").count(),
        calls.by(first = "start.unit", last = lambda p: p.end.container).count(),
        call.where(lambda e: e.pod != "" and e.comm_nodigit == "pp-worker-").by("unit", "comm").count(),
    ]
`

const podUID = "8f3a1c52-7d0e-4b6f-9a41-0c5d2e7b9f18"

// Work in cgroups of a service and of a pod's container is told apart in both tiers, and
// is as much as the programs did. One of the cgroups is made while the tiers look, and
// both are gone when their rows are read.
func TestWhoseEventsAre(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	if mounts.Cgroup2 == "" || mounts.PerfEventV1 != "" {
		err = fmt.Errorf("perf_event is not among the cgroups of version 2")
	}
	testkit.Requires(t, testkit.Optional("cgroups of version 2", err))
	top := fmt.Sprintf("/pp-whose-%d.slice", os.Getpid())
	id := fmt.Sprintf("%064x", os.Getpid())
	pod := "kubepods-pod" + strings.ReplaceAll(podUID, "-", "_") + ".slice"
	service, container := top+"/web.service", top+"/"+pod+"/cri-containerd-"+id+".scope"
	mkdir := func(path string) {
		testkit.Requires(t, testkit.Optional("cgroups that can be made",
			os.MkdirAll(mounts.Cgroup2+path, 0o755)))
	}
	remove := func() {
		for _, path := range []string{service, container, filepath.Dir(container), top} {
			os.Remove(mounts.Cgroup2 + path)
		}
	}
	defer remove()
	move := func(l *testkit.Target, path string) {
		at := mounts.Cgroup2 + path + "/cgroup.procs"
		if err := os.WriteFile(at, []byte(strconv.Itoa(l.PID())), 0); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(service)
	few := testkit.StartTarget(t, "-getppid", "1000", "-comm", "pp-worker")
	many := testkit.StartTarget(t, "-getppid", "3000", "-comm", "pp-worker")
	both := fmt.Sprintf("%d,%d", few.PID(), many.PID())
	kernel := run(t, few, "bpf", whoseEvents, "-p", both)
	native := run(t, few, "perf", whoseEvents, "-p", both)
	mkdir(container)
	move(few, service)
	move(many, container)
	few.Do()
	many.Do()
	move(few, "/")
	move(many, "/")
	remove()
	if _, err := os.Stat(mounts.Cgroup2 + top); err == nil {
		t.Fatal("the cgroups are still there")
	}
	a := testkit.Tables(t, kernel.Stop().Want(t, 0).Stdout)
	b := testkit.Tables(t, native.Stop().Want(t, 0).Stdout)
	few.End()
	many.End()
	for _, wrong := range compareAll(t, a, b) {
		t.Error(wrong)
	}
	scope := filepath.Base(container)
	for i, want := range [][]string{
		{"[cgroup=" + service + " container= count=1000 pod= unit=web.service]",
			"[cgroup=" + container + " container_text=" + id[:12] + " count=3000 pod=" + podUID + " unit=" + scope},
		{"[ids=1 n=1000 unit=web.service]", "[ids=1 n=3000 unit=" + scope + "]"},
		nil,
		{"[comm_nodigit=pp-worker- count=4000]"},
		{"[count=1000 first=web.service last=]", "[count=3000 first=" + scope + " last_text=" + id[:12] + "]"},
		{"[comm=pp-worker-0 count=3000 unit=" + scope + "]"},
	} {
		text := fmt.Sprint(cells(b[i]))
		for _, line := range want {
			if !strings.Contains(text, line) {
				t.Errorf("table %d: got %s, want %s", i, text, line)
			}
		}
	}
}
