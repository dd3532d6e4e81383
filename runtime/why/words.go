package why

import (
	"strconv"
	"strings"
)

// This file makes names for people.

// ofFile are the system calls whose first argument is a file descriptor.
var ofFile = map[string]bool{
	"read": true, "write": true, "readv": true, "writev": true, "pread64": true, "pwrite64": true,
	"recvfrom": true, "recvmsg": true, "recvmmsg": true, "sendto": true, "sendmsg": true, "sendmmsg": true,
	"accept": true, "accept4": true, "connect": true, "ioctl": true, "fsync": true, "fdatasync": true,
	"epoll_wait": true, "epoll_pwait": true, "epoll_pwait2": true, "flock": true, "splice": true,
	"sendfile": true, "preadv": true, "pwritev": true, "fallocate": true, "ftruncate": true, "getdents64": true,
}

// callName returns the name of a system call for a wait: "read fd 5", "futex
// 0x7f12".
func (x *Explainer) callName(r *record) string {
	name := x.names.texts[r.name]
	if r.kind != kEnter {
		return name // its arguments are not known
	}
	switch {
	case name == "futex":
		return "futex 0x" + strconv.FormatUint(r.b, 16)
	case ofFile[name] && int32(r.b) >= 0:
		return name + OfFD + strconv.Itoa(int(int32(r.b)))
	}
	return name
}

// NotBegun is the What of the time before a thread was started, in which the thread that starts it
// is followed.
const NotBegun = "not begun"

// OfFD separates a system call from the number of its file descriptor.
const OfFD = " fd "

// general removes the number of a file descriptor from a name, since it means nothing in
// other processes.
func general(what string) string {
	before, after, ok := strings.Cut(what, OfFD)
	if !ok {
		return what
	}
	return before + strings.TrimLeft(after, "0123456789")
}

// Flags of contention_begin: must match LCB_F_* in include/trace/events/lock.h.
const (
	lockSpin  = 1
	lockRead  = 2
	lockWrite = 4
	lockRT    = 8
	lockMutex = 32
)

// lockName returns the name of a lock of the kernel: the function that takes it
// if known, else its kind and address.
func (x *Explainer) lockName(r *record) string {
	if r.stack != 0 && x.cfg.Site != nil {
		if site := x.cfg.Site(r.stack); site != "" {
			return site
		}
	}
	kind := "lock"
	switch f := r.b; {
	case r.kind == kLockDone:
	case f&lockMutex != 0:
		kind = "mutex"
	case f&lockRT != 0:
		kind = "rt mutex"
	case f&lockRead != 0:
		kind = "read lock"
	case f&lockWrite != 0:
		kind = "write lock"
	case f&lockSpin != 0:
		kind = "spinlock"
	}
	return kind + " 0x" + strconv.FormatUint(r.a, 16)
}

// kernelThreads are the prefixes of the names of kernel threads, which are used if there
// is no other information.
var kernelThreads = []string{
	"kworker/", "ksoftirqd/", "migration/", "rcu_", "rcuc/", "rcuop/", "rcuos/", "rcub/", "kthreadd",
	"kswapd", "kcompactd", "khugepaged", "ksmd", "jbd2/", "irq/", "cpuhp/", "idle_inject/", "kauditd",
	"khungtaskd", "oom_reaper", "kblockd", "md", "nvme-", "scsi_eh_", "xfsaild/", "xfs-", "btrfs-", "ext4-",
	"loop", "dm-", "iou-wrk-", "iou-sqp-", "watchdogd", "kdevtmpfs", "writeback", "vhost-", "kvm-pit/", "kvm-nx-lpage-",
}

// KernelName reports whether a name looks like the name of a kernel thread.
func KernelName(comm string) bool {
	for _, p := range kernelThreads {
		if strings.HasPrefix(comm, p) {
			// Names of programs also begin with "md" and "loop"; in kernel threads a digit
			// follows.
			if p == "md" || p == "loop" {
				rest := comm[len(p):]
				if rest == "" || rest[0] < '0' || rest[0] > '9' {
					continue
				}
			}
			return true
		}
	}
	return false
}
