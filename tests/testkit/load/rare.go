package main

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nobody is a thread number that no thread has, because it is above the
// kernel's limit.
const nobody = 1 << 22

// rareCalls makes system calls that are rare in ordinary programs. Those that the
// user may not make fail; the others have no lasting effect.
func (w *worker) rareCalls() error {
	var attr [128]byte
	for range w.rare {
		unix.RawSyscall(unix.SYS_SETUID, uintptr(unix.Getuid()), 0, 0)
		unix.RawSyscall(unix.SYS_SETRESGID, ^uintptr(0), ^uintptr(0), ^uintptr(0))
		unix.RawSyscall(unix.SYS_PTRACE, unix.PTRACE_ATTACH, nobody, 0)
		unix.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_NEWUTS, 0, 0)
		unix.RawSyscall(unix.SYS_BPF, ^uintptr(0), uintptr(unsafe.Pointer(&attr)), uintptr(len(attr)))
		unix.RawSyscall(unix.SYS_LISTEN, ^uintptr(0), 7, 0)
		_ = unix.DeleteModule("no_such_module", 0)
		if err := connectUDP(); err != nil {
			return err
		}
	}
	return nil
}

// connectUDP binds a socket, and connects it to a port of this machine. Nothing is sent.
func connectUDP() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	err = unix.Bind(fd, at)
	at.Port = 53
	return errors.Join(err, unix.Connect(fd, at), unix.Close(fd))
}
