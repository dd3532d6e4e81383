package cgroup

import (
	"strings"
)

// This file reads the paths of cgroups. Each runtime has its own way to name them; the
// innermost container counts, since a container may run containers.

// Facts describe a cgroup. A member is "" if it does not apply: a service of the host
// is in no container.
type Facts struct {
	// Path is the path within the cgroup's hierarchy, with a leading slash.
	Path string
	// Container is the id of the container: 64 hexadecimal digits for most runtimes, a
	// name for LXC and systemd-nspawn.
	Container string
	// Runtime names the runtime that made the container: docker, containerd, crio, podman, lxc,
	// nspawn, or "" if the path does not show it.
	Runtime string
	// Pod is the uid that Kubernetes gave the pod, with dashes, or podman's id of a
	// pod.
	Pod string
	// Unit is the systemd unit: a service or a scope, else the innermost slice. Units of a
	// user's own systemd count as the service that runs this systemd (user@UID.service).
	Unit string
	// Unknown says that the path was not found; the texts are then "cgroup-ID".
	Unknown bool
}

// Parse finds the facts in the path of a cgroup of version 1 or 2.
func Parse(path string) Facts {
	f := Facts{Path: path, Unit: unitOf(path)}
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if uid := podOf(part); uid != "" {
			// The parts after this one name a container of this pod, or the pod
			// itself.
			f.Pod, f.Container, f.Runtime = uid, "", ""
		}
		id, by := containerOf(part)
		if id == "" {
			continue
		}
		if by == "" && strings.HasPrefix(path, "/docker/") {
			by = "docker"
		}
		f.Container, f.Runtime = id, by
	}
	lxc(path, &f)
	return f
}

// runtimes are the prefixes that runtimes put before ids in the names of
// scopes.
var runtimes = []struct{ prefix, name string }{
	{"docker-", "docker"}, {"cri-containerd-", "containerd"}, {"containerd-", "containerd"},
	{"nerdctl-", "containerd"}, {"crio-", "crio"}, {"libpod-", "podman"},
}

// containerOf is the id of the container that a part of a path names, and its runtime if
// the part shows it; "" for other parts. conmon, which waits for a container, has cgroups
// of its own that name the id but are not the container's.
func containerOf(part string) (id, by string) {
	name := strings.TrimSuffix(part, ".scope")
	for _, r := range runtimes {
		if rest, ok := strings.CutPrefix(name, r.prefix); ok && isID(rest) {
			return rest, r.name
		}
	}
	// A path in the form of the systemd driver that the driver cgroupfs took
	// literally: kubepods-podUID.slice:cri-containerd:ID.
	if list := strings.Split(part, ":"); len(list) == 3 && isID(list[2]) {
		_, by = containerOf(list[1] + "-" + list[2])
		return list[2], by
	}
	if isID(name) {
		return name, ""
	}
	// An ECS task: 32 digits, and a number.
	if id, number, ok := strings.Cut(name, "-"); ok && len(id) == 32 && isHex(id) && number != "" &&
		strings.Trim(number, "0123456789") == "" {
		return name, "docker"
	}
	return "", ""
}

// isID reports that s is the id of a container.
func isID(s string) bool { return len(s) == 64 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// podOf is the id of the pod that a part of a path names: pod8f3a...,
// kubepods-burstable- pod8f3a....slice with underscores for dashes, podman's
// machine-libpod_pod_ID.slice.
func podOf(part string) string {
	name, _, _ := strings.Cut(part, ":")
	name = strings.TrimSuffix(name, ".slice")
	if _, id, ok := strings.Cut(name, "libpod_pod_"); ok && isID(id) {
		return id
	}
	if i := strings.LastIndex(name, "-pod"); i >= 0 && strings.Contains(name[:i], "kubepods") {
		name = name[i+1:]
	}
	id, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	id = strings.ReplaceAll(id, "_", "-")
	switch digits := strings.ReplaceAll(id, "-", ""); {
	case len(digits) != 32 || !isHex(digits):
		return ""
	case len(id) == 36 || len(id) == 32: // a static pod has the hash of its file, without dashes
		return id
	}
	return ""
}

// lxc fills in containers whose id is a name.
func lxc(path string, f *Facts) {
	if f.Container != "" {
		return
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, part := range parts {
		name := ""
		switch {
		case strings.HasPrefix(part, "lxc.payload."):
			name, f.Runtime = strings.TrimPrefix(part, "lxc.payload."), "lxc"
		case (part == "lxc.payload" || part == "lxc") && i+1 < len(parts):
			name, f.Runtime = parts[i+1], "lxc"
		case strings.HasPrefix(part, "machine-") && strings.HasSuffix(part, ".scope"):
			name = unescape(strings.TrimSuffix(strings.TrimPrefix(part, "machine-"), ".scope"))
			if strings.HasPrefix(name, "qemu-") { // a virtual machine of libvirt
				continue
			}
			f.Runtime = "nspawn"
		case strings.HasPrefix(part, "systemd-nspawn@") && strings.HasSuffix(part, ".service"):
			name = unescape(strings.TrimSuffix(strings.TrimPrefix(part, "systemd-nspawn@"), ".service"))
			f.Runtime = "nspawn"
		default:
			continue
		}
		f.Container = name
		return
	}
}

// unescape replaces systemd's escapes in names: \x2d is a dash.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) && s[i+1] == 'x' && isHex(s[i+2:i+4]) {
			b.WriteByte(nibble(s[i+2])<<4 | nibble(s[i+3]))
			i += 3
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func nibble(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

// unitKinds are the suffixes of units that can have processes.
var unitKinds = []string{".service", ".scope", ".socket", ".mount", ".swap"}

// unitOf is the unit in a path, found by systemd's own rule: the first part after the
// slices, if it names a unit. systemd puts _ before a name that collides with a file of
// the kernel.
func unitOf(path string) string {
	slice := ""
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		part = strings.TrimPrefix(part, "_")
		if name, ok := strings.CutSuffix(part, ".slice"); ok && name != "" {
			slice = part
			continue
		}
		for _, kind := range unitKinds {
			if name, ok := strings.CutSuffix(part, kind); ok && name != "" {
				return part
			}
		}
		return slice
	}
	return slice
}
