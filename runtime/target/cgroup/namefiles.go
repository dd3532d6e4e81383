package cgroup

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"

	"ppscript/runtime/system/privilege"
)

// This file finds names in the files that runtimes keep. They belong to root, but their
// sizes are bounded: part of their content was chosen by the creator of the container.

// mostBytes bounds a file, and an answer from a socket.
const mostBytes = 8 << 20

// path returns the path of a file below the root.
func (n *Names) path(name string) string { return filepath.Join("/", n.sources.Root, name) }

// read returns a file below the root; nil if it does not exist or is too large.
func (n *Names) read(path string) []byte {
	var text []byte
	privilege.Raise(privilege.Kernel, func() {
		f, err := os.Open(n.path(path))
		if err != nil {
			return
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() || st.Size() > mostBytes {
			return
		}
		text, _ = io.ReadAll(io.LimitReader(f, mostBytes))
	})
	return text
}

// configs are the files with the annotations of a container; * stands for its id.
var configs = []string{
	"/run/containerd/io.containerd.runtime.v2.task/k8s.io/*/config.json",
	"/run/containerd/io.containerd.runtime.v2.task/default/*/config.json",
	"/run/containers/storage/overlay-containers/*/userdata/config.json",
	"/var/lib/containers/storage/overlay-containers/*/userdata/config.json",
}

// inFiles finds the name of a container or a pod in files; "" if none has it.
func (n *Names) inFiles(id string) string {
	if !isID(id) {
		return n.podInLogs(id)
	}
	if name := n.inDocker(id); name != "" {
		return name
	}
	for _, path := range configs {
		if name := n.inConfig(strings.Replace(path, "*", id, 1)); name != "" {
			return name
		}
	}
	return n.inStorage(id)
}

// inDocker finds the name of a container in Docker's files. A container of Kubernetes is
// called k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT there.
func (n *Names) inDocker(id string) string {
	var c struct{ Name string }
	if json.Unmarshal(n.read("/var/lib/docker/containers/"+id+"/config.v2.json"), &c) != nil {
		return ""
	}
	name := strings.TrimPrefix(c.Name, "/")
	if list := strings.Split(name, "_"); len(list) == 6 && list[0] == "k8s" {
		name = list[1]
	}
	return clean(name)
}

// annotated are the annotations of containerd, CRI-O and nerdctl that hold a container's name.
var annotated = []string{"io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name"}

// podKeys are the annotations that hold a pod's uid, namespace and name.
var podKeys = [][3]string{
	{"io.kubernetes.cri.sandbox-uid", "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name"},
	{"io.kubernetes.pod.uid", "io.kubernetes.pod.namespace", "io.kubernetes.pod.name"},
}

// inConfig finds the name of a container in the annotations of its OCI configuration.
// These may also name the pod, which is then recorded.
func (n *Names) inConfig(path string) string {
	var c struct {
		Annotations map[string]string
	}
	if json.Unmarshal(n.read(path), &c) != nil {
		return ""
	}
	for _, k := range podKeys {
		n.tellPod(c.Annotations[k[0]], c.Annotations[k[1]], c.Annotations[k[2]])
	}
	for _, k := range annotated {
		if name := c.Annotations[k]; name != "" {
			return clean(name)
		}
	}
	return ""
}

// tellPod records the name of a pod that was found during another look-up.
func (n *Names) tellPod(uid, namespace, name string) {
	if namespace != "" && name != "" {
		n.tell(uid, namespace+"/"+name)
	}
}

// stores are the lists of containers that root's podman and CRI-O keep.
var stores = []string{
	"/var/lib/containers/storage/overlay-containers/containers.json",
	"/run/containers/storage/overlay-containers/containers.json",
	"/var/lib/containers/storage/vfs-containers/containers.json",
}

// inStorage finds the name of a container in these lists. CRI-O's names have the form
// k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT.
func (n *Names) inStorage(id string) string {
	for _, path := range stores {
		var list []struct {
			ID    string
			Names []string
		}
		if json.Unmarshal(n.read(path), &list) != nil {
			continue
		}
		for _, c := range list {
			if c.ID != id || len(c.Names) == 0 {
				continue
			}
			name := c.Names[0]
			if parts := strings.Split(name, "_"); len(parts) == 6 && parts[0] == "k8s" {
				name = parts[1]
			}
			return clean(name)
		}
	}
	return ""
}

// podInLogs finds the name of a pod from the directory of its logs,
// NAMESPACE_NAME_UID.
func (n *Names) podInLogs(uid string) (name string) {
	privilege.Raise(privilege.Kernel, func() {
		list, _ := os.ReadDir(n.path("/var/log/pods"))
		for _, d := range list {
			parts := strings.Split(d.Name(), "_")
			if len(parts) == 3 && parts[2] == uid {
				name = clean(parts[0] + "/" + parts[1])
				return
			}
		}
	})
	return name
}

// longest bounds a name, in bytes. Characters that could harm a terminal are
// escaped later, when it is printed.
const longest = 200

// clean copies a name, so that the answer around it can be freed, and cuts it to longest. A
// character that the cut splits becomes "?".
func clean(name string) string {
	return strings.ToValidUTF8(strings.Clone(name[:min(len(name), longest)]), "?")
}
