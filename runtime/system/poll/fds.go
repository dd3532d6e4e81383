package poll

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SetFilter sets the kernel's filter of an event.
func SetFilter(fd int, filter string) error {
	p, err := unix.BytePtrFromString(filter)
	if err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.PERF_EVENT_IOC_SET_FILTER,
		uintptr(unsafe.Pointer(p)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return errno
	}
	return nil
}

// HungUp reports that the tasks of an event have ended.
func HungUp(fd int) bool {
	p := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(p, 0)
	return err == nil && n == 1 && p[0].Revents&unix.POLLHUP != 0
}
