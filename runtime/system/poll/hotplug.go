package poll

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// This file wakes a sleeping reader when a CPU comes online. The kernel reports
// added and removed devices through a netlink socket, but only to processes of
// the initial user namespace.

// firstUserNS is the initial user namespace (PROC_USER_INIT_INO in
// include/linux/proc_ns.h).
const firstUserNS = "user:[4026531837]"

// A cpuSocket is the netlink socket for devices; -1 if there is none.
type cpuSocket struct{ uevents int }

func (s *cpuSocket) close() error {
	if s.uevents < 0 {
		return nil
	}
	return unix.Close(s.uevents)
}

// HearsCPUs reports that CPUs that come online end a Wait.
func (s *cpuSocket) HearsCPUs() bool { return s.uevents >= 0 }

// HearCPUs makes CPUs that come online end a Wait, if the kernel reports them to this
// process.
func (p *Poller) HearCPUs() {
	if ns, err := os.Readlink("/proc/self/ns/user"); err != nil || ns != firstUserNS {
		return
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC,
		unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return
	}
	if unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1}) != nil ||
		p.Edge(fd, cpusTag) != nil {
		unix.Close(fd)
		return
	}
	p.uevents = fd
}

// changed reads all messages of the socket, and reports whether one is about
// CPUs.
func (s *cpuSocket) changed() (about bool) {
	var b [4096]byte
	for {
		n, _, err := unix.Recvfrom(s.uevents, b[:], 0)
		switch {
		case err == unix.ENOBUFS:
			about = true // messages were lost
		case err != nil && err != unix.EINTR:
			return about
		case n > 0:
			about = about || bytes.Contains(b[:n], []byte("@/devices/system/cpu/cpu"))
		}
	}
}
