// Package cgroup tells whose an event is: the cgroup of its thread, and the container,
// the pod and the systemd unit that this cgroup belongs to.
//
// An event has the number of its cgroup, which is the inode of the cgroup's directory.
// A Table makes a path of it, and Parse tells from the path which runtime made it: Docker, containerd,
// CRI-O, podman, LXC, systemd-nspawn and the kubelet, with the systemd driver and with
// that of the cgroup file system; systemd's services, scopes and slices.
//
//	t, err := cgroup.Open(kernel.Roots{})
//	t.Made(id, path)               // for each PERF_RECORD_CGROUP
//	f := t.At(id)                  // for each event
//	f.Unit                         // "nginx.service"
//	names.Container(f.Container)   // "web", where results are shown
//
// The session owns the Table; the command finds targets by name (Find). Names of containers
// and pods are looked up apart from events, in files that the runtimes keep and at their
// sockets.
package cgroup
