package tiers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
	"ppscript/tests/testkit/criserver"
)

// whoseEvents groups events of two processes by cgroup, container, pod and unit, with every
// form of key: by name, of pairs, within other expressions, as a column, in a condition.
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
        merge(call, end).by("unit", "container").count(),
        call.where(lambda e: e.pod != "" and e.comm_nodigit == "pp-worker-").by("unit", "comm").count(),
    ]
`

// A nest has the cgroups of a service and of a pod's container, below a slice of the test.
type nest struct {
	*testing.T
	root                     string
	top, service, container  string
	unit, id, pod, scopeName string
}

// newNest needs a hierarchy of version 2; it does not create the cgroups yet.
func newNest(t *testing.T, mark int) *nest {
	t.Helper()
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	mounts, err := kernel.ReadMounts(kernel.Roots{})
	if err != nil {
		t.Fatal(err)
	}
	if mounts.Cgroup2 == "" || mounts.PerfEventV1 != "" {
		err = fmt.Errorf("perf_event is not among the cgroups of version 2")
	}
	testkit.Requires(t, testkit.Optional("cgroups of version 2", err))
	n := &nest{T: t, root: mounts.Cgroup2}
	number := os.Getpid()<<4 + mark
	n.top = fmt.Sprintf("/pp-whose-%x.slice", number)
	n.unit = fmt.Sprintf("pp-%x.service", number)
	n.id = fmt.Sprintf("%x%056x", 0x80000000+number, 0)
	n.pod = fmt.Sprintf("8f3a1c52-7d0e-4b6f-9a41-%012x", number)
	n.service, n.scopeName = n.top+"/"+n.unit, "cri-containerd-"+n.id+".scope"
	n.container = n.top + "/kubepods-pod" + strings.ReplaceAll(n.pod, "-", "_") + ".slice/" + n.scopeName
	t.Cleanup(func() { n.remove() })
	return n
}

func (n *nest) make(path string) {
	n.Helper()
	testkit.Requires(n, testkit.Optional("cgroups that can be made", os.MkdirAll(n.root+path, 0o755)))
}

func (n *nest) remove() (gone bool) {
	for _, path := range []string{n.service, n.container, filepath.Dir(n.container), n.top} {
		os.Remove(n.root + path)
	}
	_, err := os.Stat(n.root + n.top)
	return err != nil
}

func (n *nest) move(l *testkit.Target, path string) {
	n.Helper()
	at := n.root + path + "/cgroup.procs"
	if err := os.WriteFile(at, []byte(strconv.Itoa(l.PID())), 0); err != nil {
		n.Fatal(err)
	}
}

// Both tiers attribute the work in cgroups of a service and of a pod's container
// correctly, and count as much as the programs did. One of the cgroups is created while
// the tiers observe, and both are removed when their rows are read.
func TestWhoseEventsAre(t *testing.T) {
	n := newNest(t, 0)
	n.make(n.service)
	few := testkit.StartTarget(t, "-getppid", "1000", "-comm", "pp-worker")
	many := testkit.StartTarget(t, "-getppid", "3000", "-comm", "pp-worker")
	both := fmt.Sprintf("%d,%d", few.PID(), many.PID())
	kernel := run(t, few, "bpf", whoseEvents, "-p", both)
	native := run(t, few, "perf", whoseEvents, "-p", both)
	n.make(n.container)
	n.move(few, n.service)
	n.move(many, n.container)
	few.Do()
	many.Do()
	// perf does not report cgroups that other processes create to a tracer of single processes,
	// so the events are read while the cgroup exists.
	time.Sleep(time.Second)
	n.move(few, "/")
	n.move(many, "/")
	if !n.remove() {
		t.Fatal("the cgroups are still there")
	}
	a := testkit.Tables(t, kernel.Stop().Want(t, 0).Stdout)
	b := testkit.Tables(t, native.Stop().Want(t, 0).Stdout)
	few.End()
	many.End()
	for _, wrong := range compareAll(t, a, b) {
		t.Error(wrong)
	}
	scope, short := n.scopeName, n.id[:12]
	for i, want := range [][]string{
		{"[cgroup=" + n.service + " container= count=1000 pod= unit=" + n.unit + "]",
			"[cgroup=" + n.container + " container_text=" + short + " count=3000 pod=" + n.pod +
				" unit=" + scope + "]"},
		{"[ids=1 n=1000 unit=" + n.unit + "]", "[ids=1 n=3000 unit=" + scope + "]"},
		nil,
		{"[comm_nodigit=pp-worker- count=4000]"},
		{"[count=1000 first=" + n.unit + " last=]", "[count=3000 first=" + scope + " last_text=" + short + "]"},
		{"[container= count=2000 unit=" + n.unit + "]", "[container_text=" + short + " count=6000 unit=" + scope},
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

// With a unit, a pod or a container as target, exactly its threads are observed. The names
// come from the kubelet's runtime.
func TestTargetsByWhose(t *testing.T) {
	n := newNest(t, 1)
	socket, pod := filepath.Join(t.TempDir(), "sock"), "shop/"+n.unit
	sandbox := strings.Replace(n.id, "8", "9", 1)
	cri := &criserver.Server{Pods: []*criserver.PodSandbox{criserver.Pod(sandbox, n.pod, "shop", n.unit)}}
	cri.Containers = append(cri.Containers, criserver.Container(n.id, sandbox, "app", criserver.Running))
	cri.Start(t, socket)
	n.make(n.service)
	n.make(n.container)
	few := testkit.StartTarget(t, "-getppid", "1000")
	many := testkit.StartTarget(t, "-getppid", "3000")
	n.move(few, n.service)
	n.move(many, n.container)
	program := script(t, `
def main(o):
    return tracepoint("syscalls:sys_enter_getppid").by("unit", "pod", "container").count()
`)
	one, other := n.unit+"   1000", n.scopeName+" "+pod+" app 3000"
	targets := []struct{ option, name, want string }{
		{"--unit", strings.TrimSuffix(n.unit, ".service"), one}, {"--pod", n.pod, other},
		{"--pod", pod, other},
		{"--container", n.id[:10], other}, {"--unit", n.top[1:], one + ", " + other},
	}
	var tracers []*testkit.Process
	for _, engine := range []string{"bpf", "perf"} {
		for _, target := range targets {
			p := testkit.Start(t, testkit.PPScript(t), program, "--engine", engine, "--format", "json", "-v",
				"--cri", socket, target.option, target.name)
			p.WaitStderr(" open event")
			tracers = append(tracers, p)
		}
	}
	few.Do()
	many.Do()
	for i, p := range tracers {
		var got []string
		for _, table := range testkit.Tables(t, p.Stop().Want(t, 0).Stdout) {
			for _, r := range table.Rows {
				pod, container := "", ""
				if r.Text(t, "pod") != "" {
					pod, container = r.Text(t, "pod_text"), r.Text(t, "container_text")
				}
				got = append(got, fmt.Sprintf("%s %s %s %d", r.Text(t, "unit"), pod, container,
					r.Int(t, "count")))
			}
		}
		slices.Sort(got)
		target := targets[i%len(targets)]
		want := strings.Split(target.want, ", ")
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s %s: got %v, want %v", target.option, target.name, got, want)
		}
	}
	n.move(few, "/")
	n.move(many, "/")
	few.End()
	many.End()
}

// If a unit has its cgroup in a hierarchy of version 1, by which no event can be opened,
// both tiers observe exactly its processes and the processes that they start.
func TestUnitOfVersion1(t *testing.T) {
	testkit.Requires(t, append(testkit.Live, testkit.AMD64)...)
	root := filepath.Join(t.TempDir(), "v1")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	hierarchy := fmt.Sprintf("none,name=pp-unit-%d", os.Getpid())
	testkit.Requires(t, testkit.Optional("cgroups of version 1",
		unix.Mount("none", root, "cgroup", 0, hierarchy)))
	t.Cleanup(func() {
		if err := unix.Unmount(root, 0); err != nil {
			t.Error(err)
		}
	})
	unit := fmt.Sprintf("pp-one-%d.service", os.Getpid())
	dir := filepath.Join(root, "system.slice", unit)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir); os.Remove(filepath.Dir(dir)) })
	in := testkit.StartTarget(t, "-getppid", "700", "-exec", "5")
	out := testkit.StartTarget(t, "-getppid", "900")
	if err := os.WriteFile(dir+"/cgroup.procs", []byte(strconv.Itoa(in.PID())), 0); err != nil {
		t.Fatal(err)
	}
	program := script(t, `
def main(o):
    calls = tracepoint("syscalls:sys_enter_getppid")
    return merge(calls, tracepoint("syscalls:sys_enter_execve")).by("pid").count()
`)
	const want = 700 + 5 // children execute another program
	var tracers []*testkit.Process
	engines := []string{"bpf", "perf"}
	for _, engine := range engines {
		p := testkit.Start(t, testkit.PPScript(t), program, "--engine", engine, "--format", "json", "-v",
			"--unit", unit)
		p.WaitStderr(" open event")
		tracers = append(tracers, p)
	}
	in.Do()
	out.Do()
	for i, p := range tracers {
		got := int64(0)
		run := p.Stop().Want(t, 0)
		for _, table := range testkit.Tables(t, run.Stdout) {
			for _, r := range table.Rows {
				got += r.Int(t, "count")
			}
		}
		if got != want || !strings.Contains(run.Stderr, "of version 1: the processes") {
			t.Errorf("%s: got %d calls, want %d: %s", engines[i], got, want, run.Stderr)
		}
	}
	in.End()
	out.End()
	r := testkit.Run(t, testkit.PPScript(t), program, "--unit", unit)
	if r.Exit == 0 || !strings.Contains(r.Stderr, "it has no process now") {
		t.Errorf("got status %d and %s of a unit without processes", r.Exit, r.Stderr)
	}
}
