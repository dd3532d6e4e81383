package resultfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// This file finds out whether standard output was closed (`>&-`), so that results would be lost.
// Before main begins, Go opens /dev/null for reading and writing in place of a closed descriptor 0,
// 1 or 2, so that no other file gets the number. Shells, systemd and most programs open /dev/null
// for writing only. Programs that open it for both, such as Python and Node, cannot be
// distinguished from Go with certainty: flags, numbers and times of the descriptor are the same. So
// lost results cause a message, not an error.

// Nowhere reports that stdout was closed, or is a /dev/null that was opened the way Go opens it. If
// stdin or stderr is the same open file, the parent process opened it, as daemons do: Go opens each
// descriptor separately.
func Nowhere(stdout *os.File) bool {
	fd := int(stdout.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR ||
		st.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || flags&unix.O_ACCMODE != unix.O_RDWR {
		return false
	}
	const kcmpFile = 0 // KCMP_FILE
	self := uintptr(os.Getpid())
	for _, other := range []uintptr{0, 2} {
		order, _, errno := unix.Syscall6(unix.SYS_KCMP, self, self, kcmpFile, uintptr(fd), other, 0)
		if errno == 0 && order == 0 {
			return false
		}
	}
	return true
}
