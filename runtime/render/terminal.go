package render

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal asks for the terminal attributes, which only a terminal has;
// being a character device is not enough, /dev/null is one.
func isTerminal(f *os.File) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var errno syscall.Errno
	var attrs syscall.Termios
	err = conn.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&attrs)))
	})
	return err == nil && errno == 0
}
