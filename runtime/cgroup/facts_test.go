package cgroup

import (
	"strings"
	"testing"
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

func TestPathsOfAllLayouts(t *testing.T) {
	pod := "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + uidUnit + ".slice"
	for _, c := range []struct{ path, container, runtime, pod, unit string }{
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
	} {
		got := Parse(c.path)
		if want := (Facts{c.path, c.container, c.runtime, c.pod, c.unit, false}); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", c.path, got, want)
		}
	}
}
