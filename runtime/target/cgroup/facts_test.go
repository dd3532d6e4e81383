package cgroup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ppscript/runtime/system/kernel"
	"ppscript/tests/testkit"
)

// id and other are ids as runtimes make them.
var (
	id    = strings.Repeat("3f9a", 16)
	other = strings.Repeat("0b1c", 16)
)

const (
	uid     = "8f3a1c52-7d0e-4b6f-9a41-0c5d2e7b9f18"
	uidUnit = "8f3a1c52_7d0e_4b6f_9a41_0c5d2e7b9f18"
	hash    = "b9c07e7ec8fd2b8a7f2b3d1c4e5f6071"
)

// A layout is a path as somebody makes it, and what it tells.
type layout struct{ path, container, runtime, pod, unit string }

func (l layout) facts() Facts { return Facts{l.path, l.container, l.runtime, l.pod, l.unit, false} }

// layouts lists the cgroup paths of all runtimes that make containers, pods and units.
func layouts() []layout {
	pod := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uidUnit + ".slice"
	return []layout{
		{"/", "", "", "", ""},
		{"/init.scope", "", "", "", "init.scope"},
		{"/system.slice/nginx.service", "", "", "", "nginx.service"},
		{"/system.slice/system-getty.slice/getty@tty1.service", "", "", "", "getty@tty1.service"},
		{"/system.slice/_cpu.service/inner", "", "", "", "cpu.service"},
		{"/user.slice/user-1000.slice/session-3.scope", "", "", "", "session-3.scope"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/a.scope", "", "", "", "user@1000.service"},
		{"/user.slice", "", "", "", "user.slice"},
		// Docker: both drivers, a container in a container, an ECS task.
		{"/docker/" + id, id, "docker", "", ""},
		{"/system.slice/docker-" + id + ".scope", id, "docker", "", "docker-" + id + ".scope"},
		{"/docker/" + id + "/docker/" + other, other, "docker", "", ""},
		{"/ecs/" + hash + "/" + hash + "-1234567890", hash + "-1234567890", "docker", "", ""},
		// containerd by itself, and nerdctl.
		{"/default/" + id, id, "", "", ""},
		{"/system.slice/nerdctl-" + id + ".scope", id, "containerd", "", "nerdctl-" + id + ".scope"},
		// The kubelet: both drivers, of containerd, CRI-O and Docker.
		{pod + "/cri-containerd-" + id + ".scope", id, "containerd", uid, "cri-containerd-" + id + ".scope"},
		{pod + "/crio-" + id + ".scope/container", id, "crio", uid, "crio-" + id + ".scope"},
		{pod + "/crio-conmon-" + id + ".scope", "", "", uid, "crio-conmon-" + id + ".scope"},
		{pod + "/docker-" + id + ".scope", id, "docker", uid, "docker-" + id + ".scope"},
		{pod, "", "", uid, "kubepods-burstable-pod" + uidUnit + ".slice"},
		{"/kubepods/besteffort/pod" + uid + "/" + id, id, "", uid, ""},
		{"/kubepods/pod" + uid + "/crio-" + id, id, "crio", uid, ""},
		{"/kubepods/burstable/pod" + hash + "/" + id, id, "", hash, ""}, // a pod of a file
		{"/system.slice/containerd.service/kubepods-besteffort-pod" + uidUnit + ".slice:cri-containerd:" + id,
			id, "containerd", uid, "containerd.service"},
		// kind: nodes are containers of Docker.
		{"/docker/" + id + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + uidUnit +
			".slice/cri-containerd-" + other + ".scope", other, "containerd", uid, ""},
		// podman: of root, of a user, in a pod, and what waits for it.
		{"/machine.slice/libpod-" + id + ".scope/container", id, "podman", "", "libpod-" + id + ".scope"},
		{"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope/container",
			id, "podman", "", "user@1000.service"},
		{"/machine.slice/machine-libpod_pod_" + other + ".slice/libpod-" + id + ".scope",
			id, "podman", other, "libpod-" + id + ".scope"},
		{"/libpod_parent/libpod-" + id, id, "podman", "", ""},
		{"/machine.slice/libpod-conmon-" + id + ".scope", "", "", "", "libpod-conmon-" + id + ".scope"},
		// LXC of three ages, what waits for it, and systemd-nspawn; a virtual machine is none.
		{"/lxc/web/init.scope", "web", "lxc", "", ""},
		{"/lxc.payload/web", "web", "lxc", "", ""},
		{"/lxc.payload.web/system.slice/cron.service", "web", "lxc", "", ""},
		{"/lxc.monitor.web", "", "", "", ""},
		{"/machine.slice/machine-deb\\x2d12.scope/payload", "deb-12", "nspawn", "", "machine-deb\\x2d12.scope"},
		{"/machine.slice/systemd-nspawn@deb.service/payload", "deb", "nspawn", "", "systemd-nspawn@deb.service"},
		{"/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "", "", "", "machine-qemu\\x2d1\\x2dvm.scope"},
		// What looks alike and is not.
		{"/podium/pod", "", "", "", ""},
		{"/build/" + id[:63], "", "", "", ""},
		{"/.service/.slice", "", "", "", ""},
	}
}

func TestPathsOfAllLayouts(t *testing.T) {
	for _, c := range layouts() {
		if got := Parse(c.path); got != c.facts() {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.path, got, c.facts())
		}
	}
}

// A cgroup of each layout is made here: its number tells the same, by the kernel's way and by a
// search, a process in it too, and after it is gone.
func TestCgroupsOfAllLayouts(t *testing.T) {
	table, mounts := here(t)
	root := mounts.PerfCgroup()
	// Names of this test's own, in the forms of the layouts.
	own := fmt.Sprintf("%08x", 0xc0000000+os.Getpid())
	mine := strings.NewReplacer(id, hex64(own), other, hex64(own+"1"), uid, own+uid[8:],
		uidUnit, own+uidUnit[8:],
		hash, own+hash[8:], "nginx", "nginx"+own, "web", "web"+own, "deb", "deb"+own)
	sleeper := exec.Command("sleep", "60")
	testkit.Requires(t, testkit.Optional("sleep", sleeper.Start()))
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }()
	pid := strconv.Itoa(sleeper.Process.Pid)
	move := func(path string) {
		t.Helper()
		at := filepath.Join(root, path, "cgroup.procs")
		if err := os.WriteFile(at, []byte(pid), 0); err != nil {
			t.Fatal(err)
		}
	}
	slow := Empty()
	slow.root = root
	numbers := map[uint64]Facts{}
	for _, c := range layouts() {
		want := c.facts()
		for _, s := range []*string{&want.Path, &want.Container, &want.Pod, &want.Unit} {
			*s = mine.Replace(*s)
		}
		if want.Path == c.path {
			continue // it is the machine's own
		}
		makeCgroups(t, root, want.Path)
		number := numberOf(t, filepath.Join(root, want.Path))
		numbers[number] = want
		for name, of := range map[string]*Table{"by number": table, "by a search": slow} {
			if got := *of.At(number); got != want {
				t.Errorf("%s %s:\ngot  %+v\nwant %+v", want.Path, name, got, want)
			}
		}
		move(want.Path)
		// Where there are hierarchies beside it, systemd's tells the unit.
		_, got, ok := OfThread(kernel.Roots{}, int32(sleeper.Process.Pid))
		if !ok || got.Container != want.Container || got.Runtime != want.Runtime || got.Pod != want.Pod ||
			got.Unit != want.Unit && !table.legacy {
			t.Errorf("a process in %s:\ngot  %+v\nwant %+v", want.Path, got, want)
		}
		move("/")
	}
	if len(numbers) < 25 {
		t.Errorf("got %d cgroups, want one of each layout but the machine's own", len(numbers))
	}
	// The last ones first: a container can be in another.
	for _, want := range numbers {
		for path := want.Path; path != "/"; path = filepath.Dir(path) {
			os.Remove(root + path) // which others may be in
		}
	}
	for number, want := range numbers {
		if _, err := os.Stat(root + want.Path); err != nil && *table.At(number) != want {
			t.Errorf("%s after it is gone: got %+v", want.Path, *table.At(number))
		}
	}
}
