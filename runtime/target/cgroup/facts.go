package cgroup

import (
	"strings"
)

// This file reads the paths of cgroups. Each runtime has its own way to name them; the
// innermost container counts, since a container may run containers.

// Facts are what is known of a cgroup. A member that is "" does not apply: a service of
// the host is in no container.
type Facts struct {
	// Path begins with a slash, and is that in the cgroup's hierarchy.
	Path string
	// Container is the id of the container, 64 digits of most runtimes, a name of LXC and
	// systemd-nspawn.
	Container string
	// Runtime names the runtime that made the container: docker, containerd, crio, podman, lxc, nspawn, or
	// "" if the path does not tell.
	Runtime string
	// Pod is the uid that Kubernetes gave the pod, with dashes, or podman's id of it.
	Pod string
	// Unit is the unit that systemd started: a service or a scope, else the innermost slice.
	// What a user's own systemd started belongs to the service of that.
	Unit string
	// Unknown says that nobody could tell the path; the others are then "cgroup-ID".
	Unknown bool
}

// Parse tells what the path of a cgroup means, of version 1 or 2.
func Parse(path string) Facts {
	f := Facts{Path: path, Unit: unitOf(path)}
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if uid := podOf(part); uid != "" {
			// What follows is a container of this pod, or the pod itself.
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

// runtimes are the prefixes of the names of containers' scopes.
var runtimes = []struct{ prefix, name string }{
	{"docker-", "docker"}, {"cri-containerd-", "containerd"}, {"containerd-", "containerd"},
	{"nerdctl-", "containerd"}, {"crio-", "crio"}, {"libpod-", "podman"},
}

// containerOf is the id of a container that a part of a path names, and the runtime, if it
// tells; "" for other parts. Those of conmon, which waits for a container, are none.
func containerOf(part string) (id, by string) {
	name := strings.TrimSuffix(part, ".scope")
	for _, r := range runtimes {
		if rest, ok := strings.CutPrefix(name, r.prefix); ok && isID(rest) {
			return rest, r.name
		}
	}
	// The path of the systemd driver, taken for that of a cgroup file system:
	// kubepods-podUID.slice:cri-containerd:ID.
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

// podOf is the id of a pod that a part of a path names: pod8f3a..., kubepods-burstable-
// pod8f3a....slice with underscores for dashes, podman's machine-libpod_pod_ID.slice.
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
	case len(id) == 36 || len(id) == 32: // a pod of a file has its hash
		return id
	}
	return ""
}

// lxc fills in containers that have a name for an id.
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

// unescape undoes systemd's escapes of names: \x2d is a dash.
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

// unitKinds are the kinds of units that have processes.
var unitKinds = []string{".service", ".scope", ".socket", ".mount", ".swap"}

// unitOf is the unit of a path, as systemd tells it: the first part behind all slices, if
// it is a unit. systemd puts _ in front of names that the kernel could take for its own.
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
