// Package cgroup finds the cgroup of an event, and the container, the pod and the
// systemd unit of that cgroup.
//
// An event has the number of its cgroup, which is the inode of the cgroup's directory. A Table
// finds the path for the number. Parse recognizes in the path the containers and pods of Docker,
// containerd, CRI-O, podman, LXC, systemd-nspawn and the kubelet, made with the driver systemd or
// the driver cgroupfs, and the services, scopes and slices of systemd.
//
//	t, err := cgroup.Open(kernel.Roots{})
//	t.NoteNew(id, path)            // for each PERF_RECORD_CGROUP
//	f := t.At(id)                  // for each event
//	f.Unit                         // "nginx.service"
//	names.Name(f.Container)        // "web", when results are shown
//
// The session owns the Table; the command finds targets by name (Find). Names of containers
// and pods are looked up by a goroutine of their own, in files that the runtimes keep and
// at their sockets, so that no event waits for them.
package cgroup
